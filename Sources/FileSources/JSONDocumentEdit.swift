import FileWatching
import SwappablePrimitives

/// A change of a document because of a change of its file.
struct JSONDocumentEdit: Sendable {
  /// The new text: all of it, or the part that replaces bytes of the old text.
  var text: [UInt8]
  /// The range of bytes to replace, or `nil` to replace all bytes.
  var replaced: Range<Int>?
  /// The range of elements to replace.
  var elements: Range<Int>
  /// The ranges of the new elements in `text`.
  var spans: [Range<Int>]
  /// For each new element, the old element with the same text, or -1.
  var origins: [Int]
}

extension JSONDocument {
  /// Computes the edit for a change of the file, or returns `nil` if nothing has changed.
  ///
  /// Bytes outside of the difference are not checked again.
  ///
  /// - Throws: The same error as reading the new text from its start.
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

  /// Reads only the elements that the difference touches. Returns `nil` if other elements change
  /// too, or if the text is not valid.
  private func windowEdit(prefix: Int, suffix: Int, middle: [UInt8]) -> JSONDocumentEdit? {
    // The first byte of an element must be the same as well, because it may be the end of another
    // element.
    let first = spans.partitioningIndex { $0.lowerBound >= prefix } - 1
    guard first >= 0 else { return nil }
    let suffixStart = bytes.count - suffix
    let last = spans.partitioningIndex { $0.lowerBound >= suffixStart }
    let isInside = last < spans.count
    let start = spans[first].lowerBound
    // Include the first byte of the next element, so the comma before it is not the end.
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
    // Report the same error as for a new file.
    let document = try JSONDocument(text, key: key)
    edit.spans = document.spans
    edit.origins = Array(repeating: -1, count: edit.spans.count)
    return edit
  }
}

extension JSONDocumentEdit {
  /// Splits the text and finds old elements in it.
  ///
  /// - Returns: `true` if the whole text is valid.
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
