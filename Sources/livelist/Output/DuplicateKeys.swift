import Diffing
import FileSources
import ObservableCollections
import SwappablePrimitives

/// A search for keys that occur more than once, with one warning for each source and key.
///
/// It counts hashes instead of keys, because keys would keep deleted elements alive. It also finds keys that are
/// equal as numbers and written in different ways, such as `1` and `1.0`.
struct DuplicateKeys {
  /// The counts, or `nil` before the first change of a source. Most commands read a source once.
  private var counts: [Int: Int]?
  private var numbers = NumberKeys()
  /// A Boolean value that indicates whether the current source has a duplicate key.
  private var isFound = false
  private var warned: Set<ByteString> = []

  /// Returns the first duplicate key after an event, unless a warning was given for the source or
  /// key.
  mutating func firstNew(
    after event: CollectionEvent<JSONElement>
  ) -> JSONElement.Identifier? {
    switch event {
    case .initial(let snapshot, _): return firstNew(inNewSource: snapshot)
    case .change(let change):
      let edits = change.byIdentity
      for element in edits.deleted { numbers.remove(element) }
      numbers.insert(edits.inserted, in: change.after)
      guard !isFound else { return nil }
      countOnce(change.before)
      for element in edits.deleted {
        let hash = element.differenceIdentifier.hashValue
        let count = counts?[hash] ?? 1
        counts?[hash] = count > 1 ? count - 1 : nil
      }
      var isSuspicious = false
      for element in edits.inserted where count(element) > 1 { isSuspicious = true }
      return isSuspicious ? first(in: change.after) : nil
    }
  }

  /// Returns the first duplicate key in a new source, unless a warning was given for the key.
  ///
  /// - Parameters:
  ///   - snapshot: The elements.
  ///   - isUnique: A Boolean value that indicates whether all keys are known to be unique.
  mutating func firstNew(
    inNewSource snapshot: Snapshot<JSONElement>, isUnique: Bool = false
  ) -> JSONElement.Identifier? {
    isFound = false
    counts = nil
    numbers = NumberKeys()
    numbers.insert(snapshot, in: snapshot)
    return isUnique ? nil : first(in: snapshot)
  }

  static func warn(_ key: JSONElement.Identifier) {
    let shown = ValueFormatter.shortened(key.description, to: 80)
    Program.report(
      "the key \(shown) occurs more than once; a change of one such element may be reported for "
        + "another one; use --key with a field that is unique")
  }

  /// Counts the elements before the first change of a source.
  private mutating func countOnce(_ snapshot: Snapshot<JSONElement>) {
    guard counts == nil else { return }
    var new: [Int: Int] = [:]
    new.reserveCapacity(snapshot.count)
    for element in snapshot { new[element.differenceIdentifier.hashValue, default: 0] += 1 }
    counts = new
  }

  private mutating func count(_ element: JSONElement) -> Int {
    let hash = element.differenceIdentifier.hashValue
    let count = (counts?[hash] ?? 0) + 1
    counts?[hash] = count
    return count
  }

  /// Returns the first duplicate key. It compares the keys, because two keys can have the same
  /// hash.
  private mutating func first(in snapshot: Snapshot<JSONElement>) -> JSONElement.Identifier? {
    guard let (_, offset) = snapshot.firstDuplicate(by: \.differenceIdentifier) else { return nil }
    let key = snapshot[offset].differenceIdentifier
    isFound = true
    counts = nil
    return warned.insert(ByteString(bytes: key.utf8)).inserted ? key : nil
  }
}

/// A search for keys that are equal as numbers and written in different ways.
///
/// Only a fraction, an exponent or the number -0 can be written in another way. As long as no key is one of these, no
/// keys are recorded.
private struct NumberKeys {
  /// The keys that are numbers, as they are written, or `nil` if no key can be written in another way.
  private var texts: [DecimalNumber: String]?
  private var hasWarned = false

  mutating func remove(_ element: JSONElement) {
    guard texts != nil, let (number, text) = Self.number(of: element) else { return }
    if texts?[number] == text { texts?[number] = nil }
  }

  /// Records keys, and warns about the first two that are written in different ways.
  ///
  /// - Parameters:
  ///   - elements: The new elements.
  ///   - snapshot: All elements.
  mutating func insert(_ elements: some Sequence<JSONElement>, in snapshot: Snapshot<JSONElement>) {
    guard !hasWarned else { return }
    if texts != nil { return elements.forEach { record($0) } }
    guard elements.contains(where: { Self.hasOtherForms($0.differenceIdentifier.utf8) }) else {
      return
    }
    texts = [:]
    snapshot.forEach { record($0) }
  }

  private mutating func record(_ element: JSONElement) {
    guard !hasWarned, let (number, text) = Self.number(of: element) else { return }
    guard let other = texts?.updateValue(text, forKey: number), other != text else { return }
    hasWarned = true
    Program.report(
      "the keys \(other) and \(text) are equal as numbers, but are two keys because they are "
        + "written in different ways; write them in one way")
  }

  private static func number(of element: JSONElement) -> (DecimalNumber, String)? {
    let key = element.differenceIdentifier
    guard isNumber(key.utf8) else { return nil }
    let text = key.description
    return (DecimalNumber(text), text)
  }

  private static func isNumber(_ text: ArraySlice<UInt8>) -> Bool {
    guard let first = text.first else { return false }
    return first == UInt8(ascii: "-") || UInt8(ascii: "0")...UInt8(ascii: "9") ~= first
  }

  private static func hasOtherForms(_ text: ArraySlice<UInt8>) -> Bool {
    isNumber(text)
      && (text.elementsEqual("-0".utf8) || text.contains { [0x2E, 0x65, 0x45].contains($0) })
  }
}
