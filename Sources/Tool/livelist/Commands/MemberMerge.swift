import ChangeDescriptions
import Diffing
import FileSources
import ObservableCollections
import Synchronizers

/// A merge of the versions of one element, member by member.
///
/// Edits of different members are both kept. Nested objects are merged in the same way. Arrays are values, unless a member
/// identifies their items.
struct MemberMerge {
  typealias Preference = MergeConflict<JSONElement>.Preference

  /// The members that identify the items of arrays, by the paths of the arrays.
  let nestedKeys: [String: String]
  let preference: Preference
  /// A Boolean value that indicates whether an edit by `theirs` survives a deletion by `mine`.
  var keepsEdits = true
  /// The conflicts, each in one line, and the sides that won them.
  private(set) var conflicts: [(message: String, winner: Preference)] = []

  init(nestedKeys: [String: String], preference: Preference) {
    (self.nestedKeys, self.preference) = (nestedKeys, preference)
  }

  /// Merges whole values. The key of an outermost array is that of the empty path.
  ///
  /// - Parameter name: The name of the values in conflicts.
  mutating func merge(
    _ base: JSONElement?, _ mine: JSONElement, _ theirs: JSONElement, named name: String
  ) -> JSONElement {
    merge(base, mine, theirs, at: Place(element: name)) ?? theirs
  }

  /// Merges the versions of one element, of which both sides have one.
  mutating func merge(
    base: JSONElement?, mine: JSONElement, theirs: JSONElement
  ) -> JSONElement {
    merge(base, mine, theirs, named: mine.differenceIdentifier.description)
  }

  /// Where a value is: in which element, and on which path of members.
  private struct Place {
    let element: String
    /// The path as it is shown, such as `items["a"].price`.
    var path = ""
    /// The names on the path, without items.
    var names: [String] = []

    func member(_ name: String) -> Place {
      var place = self
      let text =
        name.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "-" }
        ? name : ValueFormatter.text(of: name)
      place.path += (path.isEmpty ? "" : ".") + text
      place.names.append(name)
      return place
    }

    func item(_ identity: JSONElement.Identifier) -> Place {
      var place = self
      place.path += "[\(identity)]"
      return place
    }
  }

  /// Returns the merged value, or `nil` if the member is deleted.
  private mutating func merge(
    _ base: JSONElement?, _ mine: JSONElement?, _ theirs: JSONElement?, at place: Place
  ) -> JSONElement? {
    // By their texts: another order of members is no edit, but it is kept.
    if mine?.utf8 == base?.utf8 || mine?.utf8 == theirs?.utf8 { return theirs }
    if theirs?.utf8 == base?.utf8 { return mine }
    if let mine, let theirs {
      if let merged = mergeMembers(base, mine, theirs, at: place) { return merged }
      if let merged = mergeItems(base, mine, theirs, at: place) { return merged }
    }
    if mine == base || mine == theirs { return theirs }
    if theirs == base { return mine }
    return resolve(mine, theirs, at: place)
  }

  /// Merges objects, or returns `nil` if the values are not objects, or have two members of one name.
  private mutating func mergeMembers(
    _ base: JSONElement?, _ mine: JSONElement, _ theirs: JSONElement, at place: Place
  ) -> JSONElement? {
    guard let mineMembers = Members(mine), let theirMembers = Members(theirs),
      let baseMembers = base.map(Members.init) ?? Members()
    else { return nil }
    let names = Members.order(baseMembers, mineMembers, theirMembers)
    var merged: [(name: String, value: JSONElement)] = []
    for name in names {
      let value = merge(
        baseMembers.values[name], mineMembers.values[name], theirMembers.values[name],
        at: place.member(name))
      if let value { merged.append((name, value)) }
    }
    return JSONElement(
      members: merged, keyName: mine.keyName, identity: mine.separateIdentity)
  }

  /// Merges arrays whose items have a key, or returns `nil` if the values are not such arrays.
  private mutating func mergeItems(
    _ base: JSONElement?, _ mine: JSONElement, _ theirs: JSONElement, at place: Place
  ) -> JSONElement? {
    guard let key = nestedKeys[place.names.joined(separator: ".")] else { return nil }
    func items(_ array: JSONElement) -> [JSONElement]? {
      guard let items = try? array.items(key: key),
        Set(items.map(\.differenceIdentifier)).count == items.count
      else { return nil }
      return items
    }
    guard let mineItems = items(mine), let theirItems = items(theirs),
      let baseItems = base.map(items) ?? []
    else { return nil }
    var nested = self
    let merge = ThreeWayMerge(
      base: Snapshot(baseItems), mine: Snapshot(mineItems), theirs: Snapshot(theirItems)
    ) { conflict in
      guard let item = conflict.mine ?? conflict.theirs else { return .theirs }
      let place = place.item(item.differenceIdentifier)
      if conflict.kind == .moved {
        nested.report("both sides moved it, to different places", at: place, preference)
        return preference.resolution(of: conflict)
      }
      let merged = nested.merge(conflict.base, conflict.mine, conflict.theirs, at: place)
      if let merged { return .merged(merged) }
      return conflict.mine == nil ? .mine : .theirs
    }
    conflicts = nested.conflicts
    // Items that differ in the order of their members are no conflict of the lists.
    let versions = [baseItems, mineItems, theirItems].map { items in
      Dictionary(items.map { ($0.differenceIdentifier, $0) }) { first, _ in first }
    }
    let merged = merge.merged.map { item -> JSONElement in
      let id = item.differenceIdentifier
      guard let base = versions[0][id], let mine = versions[1][id], let theirs = versions[2][id],
        mine == base || theirs == base || mine == theirs
      else { return item }
      return self.merge(base, mine, theirs, at: place.item(id)) ?? item
    }
    return JSONElement(items: merged)
  }

  private mutating func resolve(
    _ mine: JSONElement?, _ theirs: JSONElement?, at place: Place
  ) -> JSONElement? {
    let isMine = preference == .mine && !(keepsEdits && mine == nil)
    func text(_ value: JSONElement?) -> String {
      value.map { ValueFormatter.shortened($0.description, to: 40) } ?? "deleted"
    }
    report(
      "it is \(text(mine)) in mine and \(text(theirs)) in theirs", at: place,
      isMine ? .mine : .theirs)
    return isMine ? mine : theirs
  }

  private mutating func report(_ what: String, at place: Place, _ winner: Preference) {
    let member = place.path.isEmpty ? "" : ", member \(place.path)"
    conflicts.append(("conflict at \(place.element)\(member): \(what)", winner))
  }
}

/// The members of an object that has each name once.
private struct Members {
  var names: [String] = []
  var values: [String: JSONElement] = [:]

  init() {}

  init?(_ element: JSONElement) {
    guard let members = element.members else { return nil }
    names = members.map(\.name)
    values = Dictionary(members.map { ($0.name, $0.value) }) { first, _ in first }
    if values.count != names.count { return nil }
  }

  /// Returns the names of both sides, in the order of the side that has changed the order, or of theirs.
  ///
  /// A name that only the other side has follows the name before it there.
  static func order(_ base: Members, _ mine: Members, _ theirs: Members) -> [String] {
    let isKept = base.isInSameOrder(as: theirs) && !base.isInSameOrder(as: mine)
    let (frame, other) = isKept ? (mine, theirs) : (theirs, mine)
    var names = frame.names
    for (offset, name) in other.names.enumerated() where frame.values[name] == nil {
      let before = other.names[..<offset].last { names.contains($0) }
      let place = before.flatMap(names.firstIndex(of:)).map { $0 + 1 } ?? 0
      names.insert(name, at: place)
    }
    return names
  }

  private func isInSameOrder(as other: Members) -> Bool {
    names.filter { other.values[$0] != nil } == other.names.filter { values[$0] != nil }
  }
}
