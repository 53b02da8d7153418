import DataSourceTesting
import Diffing

/// An element of one identity and one content, as compact as can be.
struct Item: Differentiable, Hashable, CustomStringConvertible {
  let id: UInt8
  let content: UInt8

  var differenceIdentifier: UInt8 { id }

  func isContentEqual(to source: Item) -> Bool { content == source.content }

  var description: String { "\(id)" + String(repeating: "'", count: Int(content)) }
}

/// All lists of up to a number of elements.
func allLists(upTo count: Int, of elements: [Item]) -> [[Item]] {
  var lists: [[Item]] = [[]]
  var longest = lists
  for _ in 0..<count {
    longest = longest.flatMap { list in elements.map { list + [$0] } }
    lists += longest
  }
  return lists
}

/// The length of a longest increasing subsequence, by trying all subsets.
func longestIncreasingLength(of values: [Int]) -> Int {
  var longest = 0
  for subset in 0..<(1 << values.count) where subset.nonzeroBitCount > longest {
    var last = Int.min
    var isIncreasing = true
    for position in 0..<values.count where subset & (1 << position) != 0 {
      if values[position] <= last { isIncreasing = false }
      last = values[position]
    }
    if isIncreasing { longest = subset.nonzeroBitCount }
  }
  return longest
}

/// The length of a longest increasing subsequence of distinct values, by piles (C. Schensted, 1961).
func longestIncreasingLengthOfMany(of values: [Int]) -> Int {
  var tops: [Int] = []
  for value in values {
    var low = 0
    var high = tops.count
    while low < high {
      let middle = (low + high) / 2
      if tops[middle] < value { low = middle + 1 } else { high = middle }
    }
    if low == tops.count { tops.append(value) } else { tops[low] = value }
  }
  return tops.count
}

/// Takes a change from one list to the other and finds what is wrong with it, if anything.
func violation<Element: Differentiable & Equatable>(
  of change: Changeset, from old: [Element], to new: [Element]
) -> String? {
  Coverage.note(change)
  if let violation = change.invariantViolation(oldCount: old.count, newCount: new.count) {
    return violation
  }
  if change.applying(to: old, with: new) != new { return "applied, it does not lead to the new" }
  let patch = Patch(change, from: old, to: new)
  if patch.applying(to: old) != new { return "its patch does not lead to the new: \(patch.steps)" }
  if patch.steps.count
    != change.deletions.count + change.insertions.count + change.moves.count + change.updates.count
  {
    return "its patch has idle steps"
  }

  let origins = change.origins(oldCount: old.count)
  var kept: [Int] = []
  var update = 0
  for (to, from) in origins.enumerated() where from >= 0 {
    kept.append(from)
    if old[from].differenceIdentifier != new[to].differenceIdentifier {
      return "it pairs different identities, \(from)->\(to)"
    }
    let isUpdated = update < change.updates.count && change.updates[update].to == to
    if isUpdated == new[to].isContentEqual(to: old[from]) {
      return "C4: the content at \(from)->\(to) \(isUpdated ? "does not differ" : "differs")"
    }
    if isUpdated { update += 1 }
  }
  if !change.moves.isEmpty {
    let longest =
      kept.count < 10 ? longestIncreasingLength(of: kept) : longestIncreasingLengthOfMany(of: kept)
    if change.moves.count != kept.count - longest {
      return "C3: \(change.moves.count) moves, where \(kept.count - longest) would do"
    }
  }

  let inverse = change.inverse
  if let violation = inverse.invariantViolation(oldCount: new.count, newCount: old.count) {
    return "inverse: \(violation)"
  }
  if inverse.applying(to: new, with: old) != old { return "the inverse does not lead back" }
  return nil
}

/// Takes the difference of two lists and finds what is wrong with it, if anything.
func violation<Element: Differentiable & Equatable>(
  from old: [Element], to new: [Element]
) -> String? {
  let change = Changeset(from: old, to: new)
  if let violation = violation(of: change, from: old, to: new) {
    return "\(old) to \(new) by \(change): \(violation)"
  }
  let kept = commonCount(old.map(\.differenceIdentifier), new.map(\.differenceIdentifier))
  if old.count - change.deletions.count != kept {
    return "C8: \(old) to \(new) keeps \(old.count - change.deletions.count) and not \(kept)"
  }
  return nil
}

/// How many elements two lists have in common, each as often as it is in both.
func commonCount<Identifier: Hashable>(_ old: [Identifier], _ new: [Identifier]) -> Int {
  if old.count < 8 {
    var rest = new
    for identifier in old {
      if let position = rest.firstIndex(of: identifier) { rest.remove(at: position) }
    }
    return new.count - rest.count
  }
  var counts: [Identifier: Int] = [:]
  for identifier in old { counts[identifier, default: 0] += 1 }
  var common = 0
  for identifier in new {
    if let count = counts[identifier], count > 0 {
      counts[identifier] = count - 1
      common += 1
    }
  }
  return common
}
