@testable import FileSources
import Swappable

/// Creates an old and a new text from the bytes, and checks that reading one after the other gives the same result
/// as reading it from the start.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  var input = Input(UnsafeBufferPointer(start: start, count: count))
  let shape = input.next()
  let key = shape & 1 == 0 ? nil : "id"
  var texts: [[UInt8]]
  if shape & 2 == 0 {
    texts = input.rest.split(separator: 0xFF, omittingEmptySubsequences: false).map { Array($0) }
  } else {
    texts = [makeText(&input)]
  }
  while !input.isAtEnd, texts.count < 6 { texts.append(edit(texts[texts.count - 1], &input)) }
  var document: JSONDocument?
  for text in texts {
    let fresh = Result { () throws(JSONElement.ParsingError) in try JSONDocument(text, key: key) }
    checkStrictly(fresh, text, key: key)
    if let document {
      for isWhole in [false, true] { check(document, text, isWhole: isWhole, fresh) }
    }
    // Elements without their key are rejected by the decoder.
    if let next = try? fresh.get(), next.values.elements().error == nil { document = next }
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

  /// The remaining bytes.
  var rest: [UInt8] {
    mutating get {
      defer { position = bytes.count }
      return Array(bytes[position...])
    }
  }
}

/// The parts of texts, valid and invalid.
private let parts: [String] = [
  "1", "-12.5e+3", "0", "123456789012345678901", "true", "null", "\"a\"", "\"]\"", "\"\\\"\"",
  "\"\\\\\"", "\"\\u00e9\\ud83d\\ude00\"", "\"\\ud800\"", "\"é€😀\"", "[]", "{}", "[1,[2,{}]]",
  "{\"id\":1}", "{\"id\":1,\"v\":2}", "{ \"id\" : \"]\" , \"id\":2 }", "{\"\\u0069d\":3}",
  "{\"v\":[{\"id\":1}]}", "{\"id\":{}}", "01", "nul", "'a'", "\"\u{1}\"", "[", "}", "\"", "1 2",
  "{\"id\":4,}", String(repeating: "[", count: 511) + String(repeating: "]", count: 511),
]

private func makeText(_ input: inout Input) -> [UInt8] {
  let count = Int(input.next())
  let separator = [",", ", ", ",\n  ", " ,\r\n"][Int(input.next() & 3)]
  let elements = (0..<count).map { _ in parts[Int(input.next()) % 22] }
  return Array(("[" + elements.joined(separator: separator) + "]").utf8)
}

/// Changes a text in some places.
private func edit(_ text: [UInt8], _ input: inout Input) -> [UInt8] {
  var text = text
  for _ in 0..<(input.next() % 8) {
    let edit = input.next()
    let place = (Int(input.next()) << 8 | Int(input.next())) % (text.count + 1)
    let length = min(Int(input.next()), text.count - place)
    let part = Array(parts[Int(input.next()) % parts.count].utf8)
    switch edit % 7 {
    case 0: text.insert(contentsOf: part, at: place)
    case 1: text.insert(contentsOf: part + [UInt8(ascii: ",")], at: place)
    case 2: text.removeSubrange(place..<place + length)
    case 3: if place < text.count { text[place] = input.next() }
    case 4:
      let block = Array(text[place..<place + length])
      text.removeSubrange(place..<place + length)
      text.insert(contentsOf: block, at: text.isEmpty ? 0 : Int(input.next()) % text.count)
    case 5: text.insert(contentsOf: text[place..<place + length], at: place)
    default: text.replaceSubrange(place..<place + length, with: part)
    }
  }
  return text
}

/// Compares splitting a text with reading it as one value, and checks the positions of errors.
private func checkStrictly(
  _ fresh: Result<JSONDocument, JSONElement.ParsingError>, _ text: [UInt8], key: String?
) {
  let whole = Result { () throws(JSONElement.ParsingError) in try JSONElement(parsing: text) }
  switch (fresh, whole) {
  case (.success(let document), .success(let whole)):
    guard whole.kind == .array, let items = try? whole.items() else {
      preconditionFailure("it is split, but no array")
    }
    let values = JSONValues(text: text, spans: document.spans, key: nil)
    let parsed = values.elements()
    precondition(parsed.error == nil, "an invalid element")
    precondition(parsed.elements.map(\.utf8) == items.map(\.utf8), "other elements")
  case (.failure(let error), .success(let whole)):
    precondition(whole.kind != .array || key != nil, "refused, but valid: \(error)")
  case (.success, .failure(let error)):
    preconditionFailure("split, but not valid: \(error)")
  case (.failure, .failure): break
  }
  guard case .failure(let error) = fresh else { return }
  guard let position = error.position else { preconditionFailure("an error without a position") }
  let lines = text.reduce(1) { $0 + ($1 == 0x0A || $1 == 0x0D ? 1 : 0) }
  precondition(
    (1...lines).contains(position.line) && (1...text.count + 1).contains(position.column),
    "an error outside of the text: \(error)")
}

private func check(
  _ old: JSONDocument, _ text: [UInt8], isWhole: Bool,
  _ fresh: Result<JSONDocument, JSONElement.ParsingError>
) {
  let difference = difference(from: old.bytes, to: text, isWhole: isWhole)
  do throws(JSONElement.ParsingError) {
    var next = old
    if let edit = try old.edit(for: difference) {
      for (span, origin) in zip(edit.spans, edit.origins) where origin >= 0 {
        precondition(edit.text[span] == old.bytes[old.spans[origin]], "not the same element")
      }
      let kept = edit.origins.filter { $0 >= 0 }
      precondition(Set(kept).count == kept.count, "one element is kept twice")
      next.apply(edit)
    }
    guard case .success(let fresh) = fresh else {
      // Only the keys of new elements are checked. The keys of the others were checked before.
      precondition(old.key != nil, "accepted, but not valid")
      precondition(next.values.elements().error != nil, "accepted without a key")
      return
    }
    precondition(next.bytes == text, "other bytes")
    precondition(next.spans == fresh.spans, "other elements")
  } catch {
    guard case .failure(error) = fresh else {
      preconditionFailure("\(error) instead of \(fresh)")
    }
  }
}

/// The result of reading two versions of a file.
private func difference(
  from old: [UInt8], to new: [UInt8], isWhole: Bool
) -> FileDifference {
  if old == new { return .same }
  if isWhole { return .whole(new) }
  let (prefix, suffix) = old.withUnsafeBytes { old in
    new.withUnsafeBytes { new in
      let prefix = ByteComparison.commonPrefix(old, new)
      return (
        prefix,
        ByteComparison.commonSuffix(
          UnsafeRawBufferPointer(rebasing: old[prefix...]),
          UnsafeRawBufferPointer(rebasing: new[prefix...]))
      )
    }
  }
  precondition(old.prefix(prefix) == new.prefix(prefix), "prefix")
  precondition(old.suffix(suffix) == new.suffix(suffix), "suffix")
  return .between(prefix: prefix, suffix: suffix, Array(new[prefix..<(new.count - suffix)]))
}
