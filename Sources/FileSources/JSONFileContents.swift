import Diffing
import ObservableCollections

/// One version of a file: its text, its elements, and what was made of them.
struct JSONFileContents<Element: Differentiable & Sendable>: Sendable {
  let document: JSONDocument
  let elements: [Element]
  /// Says that identities occur twice, if they do.
  let diagnostic: SourceDiagnostic?

  /// Reads a version; what it has in common with the version before is not decoded again.
  init(
    _ bytes: [UInt8], key: String?, after previous: JSONFileContents?,
    decoding: ElementDecoding<Element>
  ) throws(JSONError) {
    if let previous {
      document = try JSONDocument(bytes, after: previous.document)
    } else {
      document = try JSONDocument(bytes, key: key)
    }
    elements = try Self.decode(document, after: previous, decoding)
    diagnostic = Self.duplicate(in: elements)
  }

  private static func decode(
    _ document: JSONDocument, after previous: JSONFileContents?,
    _ decoding: ElementDecoding<Element>
  ) throws(JSONError) -> [Element] {
    let (first, last) = document.unchanged
    let texts = document.elements
    let window = first..<(texts.count - last)
    var known: [Int?] = Array(repeating: nil, count: window.count)
    if let previous {
      let old = previous.document.elements
      known = reusable(
        texts, window, in: old, first..<(old.count - last))
    }
    let missing = window.filter { known[$0 - first] == nil }
    let decoded: [Element]
    do throws(ElementDecoding<Element>.Fault) {
      decoded = try decoding.decode(missing.map { texts[$0] })
    } catch {
      let offset = missing.indices.contains(error.offset) ? missing[error.offset] : 0
      throw JSONError(
        code: .undecodable, reason: error.reason, position: document.position(ofElement: offset),
        elementOffset: offset)
    }
    guard let previous else { return decoded }
    var elements = Array(previous.elements[..<first])
    elements.reserveCapacity(texts.count)
    var next = decoded.makeIterator()
    for index in known {
      if let index {
        elements.append(previous.elements[index])
      } else if let element = next.next() {
        elements.append(element)
      }
    }
    elements += previous.elements[(previous.elements.count - last)...]
    return elements
  }

  /// For each text in a range the index of an old text of the same bytes, if there is one.
  private static func reusable(
    _ texts: [JSONElement], _ range: Range<Int>, in old: [JSONElement], _ oldRange: Range<Int>
  ) -> [Int?] {
    var result: [Int?] = Array(repeating: nil, count: range.count)
    var isComplete = true
    // Most often the texts are in step.
    for offset in 0..<range.count {
      let candidate = oldRange.lowerBound + offset
      if candidate < oldRange.upperBound,
        old[candidate].hasSameText(as: texts[range.lowerBound + offset])
      {
        result[offset] = candidate
      } else {
        isComplete = false
      }
    }
    if isComplete { return result }
    var indices: [TextKey: Int] = [:]
    for index in oldRange { indices[TextKey(element: old[index])] = index }
    for offset in 0..<range.count where result[offset] == nil {
      result[offset] = indices[TextKey(element: texts[range.lowerBound + offset])]
    }
    return result
  }

  private static func duplicate(in elements: [Element]) -> SourceDiagnostic? {
    var seen: [Element.DifferenceIdentifier: Int] = [:]
    seen.reserveCapacity(elements.count)
    for (offset, element) in elements.enumerated() {
      let identifier = element.differenceIdentifier
      if let first = seen.updateValue(offset, forKey: identifier) {
        return SourceDiagnostic(
          code: "duplicate-identity",
          message: "Elements \(first) and \(offset) have the same key, \(identifier); "
            + "their changes may be told as those of one another.")
      }
    }
    return nil
  }
}

/// A text by its bytes alone.
private struct TextKey: Hashable {
  var element: JSONElement

  static func == (left: TextKey, right: TextKey) -> Bool {
    left.element.hasSameText(as: right.element)
  }

  func hash(into hasher: inout Hasher) {
    let bytes = element.storage.bytes
    JSONBytes.hash(bytes, bytes.indices, into: &hasher)
  }
}

extension JSONElement {
  /// Whether the texts are the same byte by byte.
  fileprivate func hasSameText(as other: JSONElement) -> Bool {
    let (left, right) = (storage, other.storage)
    return left === right
      || JSONBytes.areEqual(left.bytes, left.bytes.indices, right.bytes, right.bytes.indices)
  }
}
