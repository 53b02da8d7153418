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
  private var hasExplained = false

  /// Reports a member that could identify the elements of all lists, if there is one.
  ///
  /// - Parameter isEdited: A closure that tells whether elements were edited that a member identifies.
  static func reportCandidate(
    in lists: Snapshot<JSONElement>..., where isEdited: (String) -> Bool = { _ in true }
  ) {
    guard let name = candidate(in: lists, where: isEdited) else { return }
    Program.report(
      "every element has a member \"\(name)\"; with --key \(name), an edited element is one update "
        + "instead of a deletion and an insertion")
  }

  /// Returns a member that could identify the elements of all lists, if there is one.
  static func candidate(
    in lists: [some Collection<JSONElement>], where isEdited: (String) -> Bool = { _ in true }
  ) -> String? {
    let names = lists.lazy.compactMap(\.first).first?.members?.map(\.name) ?? []
    let likely = ["id", "_id", "key", "uuid", "guid"]
    let candidates =
      likely.flatMap { word in names.filter { $0.lowercased() == word } }
      + names.filter { $0.hasSuffix("Id") || $0.hasSuffix("ID") || $0.hasSuffix("_id") }
    return candidates.first { name in
      isEdited(name)
        && lists.allSatisfy { list in
          var seen: Set<JSONElement> = []
          return list.allSatisfy { $0[name].map { seen.insert($0).inserted } ?? false }
        }
    }
  }

  /// Reports what makes an edit look like a deletion and an insertion: there is no key, or it is spelled in another way.
  private mutating func explain(
    _ deleted: some Sequence<JSONElement>, _ inserted: some Sequence<JSONElement>,
    in contents: Snapshot<JSONElement>
  ) {
    let (deleted, inserted) = (Array(deleted.prefix(1_000)), Array(inserted.prefix(1_000)))
    guard !hasExplained, let first = deleted.first, !inserted.isEmpty else { return }
    if !first.hasKey, first.members != nil {
      return Self.reportCandidate(in: contents) { name in
        let values = Set(deleted.compactMap { $0[name] })
        hasExplained = !values.isDisjoint(with: inserted.compactMap { $0[name] })
        return hasExplained
      }
    }
    let old = Dictionary(
      deleted.map { (Spelling($0.differenceIdentifier.description), $0.differenceIdentifier) },
      uniquingKeysWith: { first, _ in first })
    for element in inserted {
      let key = element.differenceIdentifier
      guard let other = old[Spelling(key.description)], other != key else { continue }
      hasExplained = true
      return Program.report(
        "the keys \(other) and \(key) are one identifier in two spellings, so its element is deleted and inserted; "
          + "write it in one way")
    }
  }

  /// A key without what programs write in different ways: quotes, forms of numbers, and capitals of a UUID.
  private enum Spelling: Hashable {
    case number(DecimalNumber)
    case text(String)

    init(_ key: String) {
      let text = key.first == "\"" ? String(key.dropFirst().dropLast()) : key
      let isUUID = text.utf8.count == 36 && text.allSatisfy { $0.isHexDigit || $0 == "-" }
      let isNumber = text == key && Double(text) != nil || Int(text) != nil
      self = isNumber ? .number(DecimalNumber(text)) : .text(isUUID ? text.lowercased() : text)
    }
  }

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
      explain(edits.deleted, edits.inserted, in: change.after)
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
