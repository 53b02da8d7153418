import ChangeDescriptions
import Diffing
import FileSources
import ObservableCollections
import SwappablePrimitives

/// The warnings of keys that occur more than once, one for each key.
///
/// It also finds keys that are equal as numbers and written in different ways, such as `1` and `1.0`.
struct KeyWarnings {
  private var identities = IdentityCounter<JSONElement>()
  private var numbers = NumberKeys()
  private var warned: Set<ByteString> = []

  /// Checks the keys after an event.
  mutating func check(_ event: CollectionEvent<JSONElement>) {
    switch event {
    case .initial(let elements, _):
      numbers.insert(elements, in: elements)
      identities.count(.whole(Array(elements)), from: elements, to: elements)
    case .change(let change):
      let edits = change.byIdentity
      for element in edits.deleted { numbers.remove(element) }
      numbers.insert(edits.inserted, in: change.after)
      let contents = SourceWriter<JSONElement>.Contents.changed(
        change.changeset, inserted: change.inserted.map(\.element),
        updated: change.updated.map(\.new))
      identities.count(contents, from: change.before, to: change.after)
    }
    if let key = identities.repeatedIdentity { warn(key) }
  }

  /// Checks the keys of a list.
  ///
  /// - Parameters:
  ///   - elements: The elements.
  ///   - isUnique: A Boolean value that indicates whether all keys are known to be unique.
  mutating func check(_ elements: Snapshot<JSONElement>, isUnique: Bool) {
    numbers = NumberKeys()
    numbers.insert(elements, in: elements)
    if !isUnique, let (_, offset) = elements.firstDuplicate(by: \.differenceIdentifier) {
      warn(elements[offset].differenceIdentifier)
    }
  }

  private mutating func warn(_ key: JSONElement.Identifier) {
    guard warned.insert(ByteString(bytes: key.utf8)).inserted else { return }
    let shown = ValueFormatter.shortened(key.description, to: 80)
    Program.report(
      "the key \(shown) occurs more than once; a change of one such element may be reported for "
        + "another one; use --key with a field that is unique")
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
