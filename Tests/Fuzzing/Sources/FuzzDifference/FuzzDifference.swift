import Swappable

/// Creates two lists from the bytes, and checks all promises of their difference.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  var input = Input(UnsafeBufferPointer(start: start, count: count))
  let shape = input.next()
  switch shape % 5 {
  case 0: check(&input) { Item(id: Int($0 & 7), content: $0 >> 7) }
  case 1: check(&input) { Item(id: Int($0), content: 0) }
  case 2: check(&input) { "element \($0 & 63) of some length" }
  case 3: check(&input) { Colliding(id: $0 & 31, content: $0 >> 6) }
  default: check(&input) { Double(bitPattern: UInt64($0 & 15) << 60) }
  }
  return 0
}

/// The bytes of a case, followed by zeros.
struct Input {
  private let bytes: UnsafeBufferPointer<UInt8>
  private var position = 0

  init(_ bytes: UnsafeBufferPointer<UInt8>) {
    self.bytes = bytes
  }

  var isAtEnd: Bool { position >= bytes.count }

  mutating func next() -> UInt8 {
    guard !isAtEnd else { return 0 }
    defer { position += 1 }
    return bytes[position]
  }
}

struct Item: Differentiable, Equatable {
  let id: Int
  let content: UInt8
  var differenceIdentifier: Int { id }
}

/// An element whose identity has one of two hash values.
struct Colliding: Differentiable, Equatable {
  struct Identifier: Hashable {
    let id: UInt8
    func hash(into hasher: inout Hasher) { hasher.combine(id & 1) }
  }
  let id: UInt8
  let content: UInt8
  var differenceIdentifier: Identifier { Identifier(id: id) }
}

/// Reads an old list and the edits that lead to a new one, and checks the difference.
private func check<Element: Differentiable>(
  _ input: inout Input, _ make: (UInt8) -> Element
) {
  var old: [Element] = []
  // Some lists are long, so a few bytes reach hashing, gaps and blocks.
  let count = Int(input.next()) * (input.next() & 1 == 0 ? 1 : 9)
  for offset in 0..<count { old.append(make(UInt8(truncatingIfNeeded: offset) ^ input.next())) }
  var new = old
  while !input.isAtEnd, new.count < 20_000 {
    let edit = input.next()
    let place = new.isEmpty ? 0 : (Int(input.next()) << 8 | Int(input.next())) % new.count
    let length = min(Int(input.next()), new.count - place)
    switch edit % 7 {
    case 0: new.insert(make(input.next()), at: place)
    case 1: new.removeSubrange(place..<place + length)
    case 2: if place < new.count { new[place] = make(input.next()) }
    case 3: new[place..<place + length].reverse()
    case 4:
      let block = Array(new[place..<place + length])
      new.removeSubrange(place..<place + length)
      new.insert(contentsOf: block, at: new.isEmpty ? 0 : Int(input.next()) % new.count)
    case 5: new.insert(contentsOf: (0..<length).map { make(UInt8($0)) }, at: place)
    default: if place < new.count { new.swapAt(place, Int(input.next()) % new.count) }
    }
  }
  verify(old, new)
}

private func verify<Element: Differentiable>(_ old: [Element], _ new: [Element]) {
  let change = Changeset(from: old, to: new)
  precondition(areSame(change.applying(to: old, with: new), new), "applied: \(change)")
  precondition(
    areSame(change.inverse.applying(to: new, with: old), old), "inverted and applied: \(change)")
  if old.count < 600 {
    precondition(areSame(Patch(change, from: old, to: new).applying(to: old), new), "patch")
  }
  let common = commonCount(old, new)
  precondition(old.count - change.deletions.count == common, "keeps not \(common): \(change)")
  precondition(isAscending(change.deletions) && isAscending(change.insertions), "order")
  precondition(
    isAscending(change.moves.map(\.to)) && isAscending(change.updates.map(\.to)), "order")
  for update in change.updates {
    let (old, new) = (old[update.from], new[update.to])
    precondition(areSame(old.differenceIdentifier, new.differenceIdentifier), "pairs strangers")
    precondition(!new.isContentEqual(to: old), "an idle update")
  }
}

private func isAscending(_ offsets: [Int]) -> Bool {
  zip(offsets, offsets.dropFirst()).allSatisfy { $0 < $1 }
}

private func areSame<Identifier: Hashable>(_ one: Identifier, _ other: Identifier) -> Bool {
  one == other
}

private func areSame<Element: Differentiable>(_ one: [Element], _ other: [Element]) -> Bool {
  one.count == other.count
    && zip(one, other).allSatisfy {
      $0.differenceIdentifier == $1.differenceIdentifier && $0.isContentEqual(to: $1)
    }
}

private func commonCount<Element: Differentiable>(_ old: [Element], _ new: [Element]) -> Int {
  var counts: [Element.DifferenceIdentifier: Int] = [:]
  for element in old { counts[element.differenceIdentifier, default: 0] += 1 }
  var common = 0
  for element in new {
    if let count = counts[element.differenceIdentifier], count > 0 {
      counts[element.differenceIdentifier] = count - 1
      common += 1
    }
  }
  return common
}
