import Diffing

/// One version of a file: its text, its elements, and what was made of them.
struct JSONFileContents<Element: Differentiable & Sendable>: Sendable {
  let document: JSONDocument
  private(set) var elements: [Element] = []
  /// The elements of the version before that are not in this one, and those that are new.
  private(set) var difference: (removed: [Element], added: [Element]) = ([], [])

  /// Reads a version; what it has in common with the version before is not decoded again.
  init(
    _ bytes: [UInt8], key: String?, after previous: JSONFileContents?,
    decoding: ElementDecoding<Element>
  ) throws(JSONError) {
    guard let previous else {
      document = try JSONDocument(bytes, key: key)
      elements = try decode(Array(document.elements.indices), decoding)
      difference.added = elements
      return
    }
    document = try JSONDocument(bytes, after: previous.document)
    let (first, last) = document.unchanged
    let old = previous.document.elements
    let window = first..<(document.elements.count - last)
    let oldWindow = first..<(old.count - last)
    let known = Self.reusable(document.elements, window, in: old, oldWindow)
    let decoded = try decode(window.filter { known[$0 - first] == nil }, decoding)

    elements.reserveCapacity(document.elements.count)
    elements += previous.elements[..<first]
    difference.added = decoded
    var isKept = Array(repeating: false, count: oldWindow.count)
    var next = decoded.makeIterator()
    for index in known {
      if let index {
        let element = previous.elements[index]
        elements.append(element)
        // One old text may stand for several new ones.
        if isKept[index - first] { difference.added.append(element) }
        isKept[index - first] = true
      } else if let element = next.next() {
        elements.append(element)
      }
    }
    elements += previous.elements[oldWindow.upperBound...]
    for index in oldWindow where !isKept[index - first] {
      difference.removed.append(previous.elements[index])
    }
  }

  private func decode(
    _ offsets: [Int], _ decoding: ElementDecoding<Element>
  ) throws(JSONError) -> [Element] {
    do throws(UndecodableElement) {
      return try decoding.decode(offsets.map { document.elements[$0] })
    } catch {
      let offset = offsets.indices.contains(error.offset) ? offsets[error.offset] : 0
      throw JSONError(
        code: .undecodable, reason: error.reason, position: document.position(ofElement: offset),
        elementOffset: offset)
    }
  }

  /// For each text in a range the index of an old text of the same bytes, if there is one.
  private static func reusable(
    _ texts: [JSONElement], _ range: Range<Int>, in old: [JSONElement], _ oldRange: Range<Int>
  ) -> [Int?] {
    var result: [Int?] = Array(repeating: nil, count: range.count)
    var leftOver: [Int] = []
    var oldIndex = oldRange.lowerBound
    var index = range.lowerBound
    // Most often the texts are in step, or a few were inserted, deleted or updated: look around
    // before hashing, which reads every byte.
    while index < range.upperBound, oldIndex < oldRange.upperBound {
      if old[oldIndex].hasSameText(as: texts[index]) {
        result[index - range.lowerBound] = oldIndex
        oldIndex += 1
        index += 1
        continue
      }
      let (oldStep, step) = stepsToNextMatch(
        texts[index..<min(index + 9, range.upperBound)],
        old[oldIndex..<min(oldIndex + 9, oldRange.upperBound)])
      leftOver += oldIndex..<(oldIndex + oldStep)
      oldIndex += oldStep
      index += step
    }
    leftOver += oldIndex..<oldRange.upperBound
    if leftOver.isEmpty { return result }

    var indices: [TextKey: Int] = [:]
    indices.reserveCapacity(leftOver.count)
    for index in leftOver { indices[TextKey(element: old[index])] = index }
    for offset in 0..<range.count where result[offset] == nil {
      result[offset] = indices[TextKey(element: texts[range.lowerBound + offset])]
    }
    return result
  }

  /// How far to go in both until they are in step again, as far as one can see.
  private static func stepsToNextMatch(
    _ texts: ArraySlice<JSONElement>, _ old: ArraySlice<JSONElement>
  ) -> (old: Int, new: Int) {
    let (start, oldStart) = (texts.startIndex, old.startIndex)
    for step in 1..<9 {
      let (next, oldNext) = (start + step, oldStart + step)
      if next < texts.endIndex, oldNext < old.endIndex,
        old[oldNext].hasSameText(as: texts[next])
      {
        return (step, step)
      }
      if next < texts.endIndex, old[oldStart].hasSameText(as: texts[next]) { return (0, step) }
      if oldNext < old.endIndex, old[oldNext].hasSameText(as: texts[start]) { return (step, 0) }
    }
    return (1, 1)
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
