import Diffing
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
  func edit(for difference: FileDifference) throws(JSONElement.ParsingError) -> JSONDocumentEdit? {
    switch difference {
    case .same: return nil
    case .between(let prefix, let suffix, let middle):
      if let edit = windowEdit(prefix: prefix, suffix: suffix, middle: middle) { return edit }
      return try wholeEdit(
        Array([bytes[..<prefix], middle[...], bytes[(bytes.count - suffix)...]].joined()))
    case .whole(let text): return try wholeEdit(text)
    }
  }

  /// Computes an edit of only the elements that the difference touches. Returns `nil` if other elements
  /// change, too, or if the text is not an array or not valid.
  private func windowEdit(prefix: Int, suffix: Int, middle: [UInt8]) -> JSONDocumentEdit? {
    if isSingleValue { return nil }
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
    return edit.match(self, upTo: textEnd) ? edit : nil
  }

  /// Computes an edit that replaces the whole text.
  private func wholeEdit(_ text: [UInt8]) throws(JSONElement.ParsingError) -> JSONDocumentEdit {
    var edit = JSONDocumentEdit(
      text: text, replaced: nil, elements: spans.indices, spans: [], origins: [])
    if edit.match(self, upTo: nil) { return edit }
    // Report the same error as for a new file.
    let document = try JSONDocument(text, key: key, allowsSingleValue: allowsSingleValue)
    edit.spans = document.spans
    edit.origins = Array(repeating: -1, count: edit.spans.count)
    return edit
  }
}

extension JSONDocumentEdit {
  /// Splits the text and finds old elements in it.
  ///
  /// - Parameters:
  ///   - old: The document that is edited.
  ///   - limit: The start of an element that is known to follow, or `nil` for the end of the array.
  /// - Returns: `true` if the text is valid up to there.
  fileprivate mutating func match(_ old: JSONDocument, upTo limit: Int?) -> Bool {
    let isWindow = replaced != nil
    let result: (spans: [Range<Int>], origins: [Int])? = old.bytes.withUnsafeBytes { oldBytes in
      text.withUnsafeBytes { newBytes in
        var matcher = JSONElementMatcher(
          old: oldBytes, oldSpans: old.spans, new: newBytes, next: elements.lowerBound,
          end: elements.upperBound)
        matcher.spans.reserveCapacity(elements.count + 1)
        matcher.origins.reserveCapacity(elements.count + 1)
        do throws(JSONElement.ParsingError) {
          let isInStep = try JSONDocument.parse(text, capacity: 0, isWhole: !isWindow) {
            (scanner) throws(JSONScanner.ScanError) in
            if !isWindow, !(try JSONDocument.scanOpening(&scanner)) { return true }
            return try matcher.run(&scanner, upTo: limit)
          }
          guard isInStep else { return nil }
        } catch {
          return nil
        }
        matcher.matchRest()
        return (matcher.spans, matcher.origins)
      }
    }
    guard let result else { return false }
    (spans, origins) = result
    return true
  }
}

extension JSONDocumentEdit {
  /// The change of the elements.
  var changeset: Changeset {
    let limit = min(origins.count, elements.count)
    var first = 0
    while first < limit, origins[first] == elements.lowerBound + first { first += 1 }
    let start = elements.lowerBound + first
    let changeset = Changeset(
      origins: origins[first...].map { $0 < 0 ? -1 : $0 - start },
      oldCount: elements.count - first, isUpdated: { _, _ in false })
    if start == 0 { return changeset }
    return Changeset(
      deletions: changeset.deletions.map { $0 + start },
      insertions: changeset.insertions.map { $0 + start },
      moves: changeset.moves.map { .init(from: $0.from + start, to: $0.to + start) })
  }
}

/// A matcher that splits a new text into elements and finds old elements in it.
///
/// Elements that follow each other in both texts are matched by comparing bytes, many elements at once.
/// If the bytes of an element and the byte after it are the same, the value is the same and was checked
/// before. All other elements are scanned byte by byte, and then looked up among the unmatched old
/// elements.
private struct JSONElementMatcher {
  /// The ranges of the elements in the new text.
  var spans: [Range<Int>] = []
  /// For each new element, the old element with the same text, or -1.
  var origins: [Int] = []

  let old: UnsafeRawBufferPointer
  let oldSpans: [Range<Int>]
  let new: UnsafeRawBufferPointer
  /// The first old element that may be matched next.
  var next: Int
  /// The end of the old elements.
  let end: Int
  /// The old elements that were skipped.
  var skipped: [Int] = []
  /// The number of new elements in a row that were not matched.
  var misses = 0

  /// The number of old elements that are compared with an unmatched new element. More elements are
  /// compared only if the number of misses is a power of two.
  private static let reach = 8

  /// Splits the text from its first element on.
  ///
  /// - Parameter limit: The start of an element that is known to follow, or `nil` for the end of the
  ///   array.
  /// - Returns: `true` if an element, or the array, ends exactly there.
  mutating func run(
    _ scanner: inout JSONScanner, upTo limit: Int?
  ) throws(JSONScanner.ScanError) -> Bool {
    repeat {
      if scanner.next == nil { throw scanner.truncated("array") }
      if let limit, scanner.position >= limit { return scanner.position == limit }
      if let place = place(of: scanner.position) {
        follow(from: place, at: scanner.position)
        misses = 0
        if let last = spans.last { scanner.jump(to: last.upperBound) }
      } else {
        spans.append(try scanner.scanElement(offset: spans.count))
        origins.append(-1)
        misses += 1
      }
      scanner.skipSpace()
    } while try scanner.scanSeparator(closing: UInt8(ascii: "]"), of: "array")
    try scanner.scanEnd(after: "array")
    return limit == nil
  }

  // MARK: - Matching in order

  /// Returns the old element that is the same as the new element at a position, or `nil` if none is
  /// found nearby.
  private func place(of position: Int) -> Int? {
    guard next < end else { return nil }
    // First, assume that the misses are updates. Then, assume that they are insertions.
    let updated = next + misses
    if updated < end, isSame(updated, position) { return updated }
    if misses > 0, isSame(next, position) { return next }
    var reach = Self.reach
    if misses >= reach {
      // The farther the search reaches, the less often it is made.
      guard misses & (misses - 1) == 0 else { return nil }
      reach = 4 * misses
    }
    for place in (next + 1)..<max(next + 1, min(end, updated + reach))
    where place != updated && isSame(place, position) {
      return place
    }
    return nil
  }

  /// Returns a Boolean value that indicates whether the new text, at a position, has the bytes of an old
  /// element and the byte after it.
  private func isSame(_ place: Int, _ position: Int) -> Bool {
    let span = oldSpans[place]
    guard span.upperBound < old.count, position + span.count < new.count else { return false }
    return new[position] == old[span.lowerBound]
      && ByteComparison.commonPrefix(
        UnsafeRawBufferPointer(rebasing: old[span.lowerBound...span.upperBound]),
        UnsafeRawBufferPointer(rebasing: new[position...(position + span.count)]))
        == span.count + 1
  }

  /// Matches all old elements from one on, as long as the bytes are the same.
  private mutating func follow(from place: Int, at position: Int) {
    skipped += next..<place
    let start = oldSpans[place].lowerBound
    let common = ByteComparison.commonPrefix(
      UnsafeRawBufferPointer(rebasing: old[start...]),
      UnsafeRawBufferPointer(rebasing: new[position...]))
    next = place
    while next < end, oldSpans[next].upperBound - start < common {
      spans.append(oldSpans[next].shifted(by: position - start))
      origins.append(next)
      next += 1
    }
  }

  // MARK: - Matching in any order

  /// Looks up the unmatched new elements among the unmatched old elements.
  mutating func matchRest() {
    skipped += next..<end
    next = end
    guard !skipped.isEmpty, origins.contains(-1) else { return }
    // If several old elements have the same text, they are matched in order: each names the next one.
    var places: [Text: Int] = [:]
    places.reserveCapacity(skipped.count)
    var following = Array(repeating: -1, count: skipped.count)
    for (index, place) in skipped.enumerated().reversed() {
      following[index] = places.updateValue(index, forKey: Text(old, oldSpans[place])) ?? -1
    }
    for (index, origin) in origins.enumerated() where origin < 0 {
      let text = Text(new, spans[index])
      guard let found = places[text], found >= 0 else { continue }
      origins[index] = skipped[found]
      places[text] = following[found]
    }
  }

  /// A text that is compared by its bytes.
  private struct Text: Hashable {
    let bytes: UnsafeRawBufferPointer

    init(_ text: UnsafeRawBufferPointer, _ span: Range<Int>) {
      bytes = UnsafeRawBufferPointer(rebasing: text[span])
    }

    static func == (left: Text, right: Text) -> Bool {
      left.bytes.count == right.bytes.count
        && ByteComparison.commonPrefix(left.bytes, right.bytes) == left.bytes.count
    }

    func hash(into hasher: inout Hasher) { hasher.combine(bytes: bytes) }
  }
}

extension Range<Int> {
  func shifted(by distance: Int) -> Range<Int> {
    Range(uncheckedBounds: (lowerBound + distance, upperBound + distance))
  }
}
