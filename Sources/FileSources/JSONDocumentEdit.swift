import FileWatching
import SwappablePrimitives

/// What becomes of a document when its file changes.
struct JSONDocumentEdit: Sendable {
  /// The new text, or what takes the place of some of the old one.
  var text: [UInt8]
  /// The bytes whose place it takes; nil for all of them.
  var replaced: Range<Int>?
  /// The elements whose place others take.
  var elements: Range<Int>
  /// Where in the text those others stand.
  var spans: [Range<Int>]
  /// For each of them the old element of the same text, or -1.
  var origins: [Int]
}

extension JSONDocument {
  /// Finds out what a change of the file does; nil where that is nothing.
  ///
  /// What is outside of the bytes that differ was checked when it was read.
  ///
  /// - Throws: what is wrong with the new text, exactly as if it were read from the start.
  func edit(for difference: FileDifference.Bytes) throws(JSONError) -> JSONDocumentEdit? {
    switch difference {
    case .same: return nil
    case .between(let prefix, let suffix, let middle):
      if let edit = windowEdit(prefix: prefix, suffix: suffix, middle: middle) { return edit }
      return try wholeEdit(
        Array([bytes[..<prefix], middle[...], bytes[(bytes.count - suffix)...]].joined()))
    case .whole(let text): return try wholeEdit(text)
    }
  }

  /// Reads only the elements that the difference touches; nil where others are not what they were, too,
  /// and where something is wrong.
  private func windowEdit(prefix: Int, suffix: Int, middle: [UInt8]) -> JSONDocumentEdit? {
    // The byte that an element begins with must be the same, too: it may be another one's end.
    let first = spans.partitioningIndex { $0.lowerBound >= prefix } - 1
    guard first >= 0 else { return nil }
    let suffixStart = bytes.count - suffix
    let last = spans.partitioningIndex { $0.lowerBound >= suffixStart }
    let isInside = last < spans.count
    let start = spans[first].lowerBound
    // With the first byte of the element behind, so that the comma before it is not the end.
    let end = isInside ? spans[last].lowerBound + 1 : bytes.count
    var text: [UInt8] = []
    text.reserveCapacity(prefix - start + middle.count + end - suffixStart)
    text += bytes[start..<prefix]
    text += middle
    text += bytes[suffixStart..<end]
    var edit = JSONDocumentEdit(
      text: text, replaced: start..<end, elements: first..<last, spans: [], origins: [])
    let textEnd = isInside ? text.count - 1 : nil
    let isInStep = edit.match(self) { (walk, scanner) throws(JSONScanner.Fault) in
      try walk.run(&scanner, upTo: textEnd)
    }
    return isInStep ? edit : nil
  }

  private func wholeEdit(_ text: [UInt8]) throws(JSONError) -> JSONDocumentEdit {
    var edit = JSONDocumentEdit(
      text: text, replaced: nil, elements: spans.indices, spans: [], origins: [])
    let isValid = edit.match(self) { (walk, scanner) throws(JSONScanner.Fault) in
      guard try JSONDocument.scanOpening(&scanner) else { return true }
      return try walk.run(&scanner, upTo: nil)
    }
    if isValid { return edit }
    // Says what is wrong as it is said of a new file.
    let document = try JSONDocument(text, key: key)
    edit.spans = document.spans
    edit.origins = Array(repeating: -1, count: edit.spans.count)
    return edit
  }
}

extension JSONDocumentEdit {
  /// Splits the text and finds old elements in it.
  ///
  /// - Returns: whether all of it is valid.
  fileprivate mutating func match(
    _ old: JSONDocument,
    _ body: (inout JSONElementWalk, inout JSONScanner) throws(JSONScanner.Fault) -> Bool
  ) -> Bool {
    let isWindow = replaced != nil
    let result: (spans: [Range<Int>], origins: [Int])? = old.bytes.withUnsafeBytes { oldBytes in
      text.withUnsafeBytes { newBytes in
        var walk = JSONElementWalk(
          old: oldBytes, oldSpans: old.spans, range: elements, new: newBytes)
        do throws(JSONError) {
          let isInStep = try JSONElement.parse(text, capacity: 0, isWhole: !isWindow) {
            (scanner) throws(JSONScanner.Fault) in
            try body(&walk, &scanner)
          }
          guard isInStep else { return nil }
        } catch {
          return nil
        }
        walk.matchRest()
        return (walk.spans, walk.origins)
      }
    }
    guard let result else { return false }
    (spans, origins) = result
    return true
  }
}
