import Diffing
import FileWatching

/// The text of one version of a file, which its elements were made of.
///
/// The elements themselves are those of the collection: they are not kept twice.
struct JSONFileContents: Sendable {
  private(set) var document: JSONDocument

  /// What a version brings.
  struct Change<Element> {
    /// The elements whose place others take.
    var range: Range<Int>
    var replacements: [Element]
    /// The elements that are in no place any more, and those that were in none before.
    var removed: [Element] = []
    var added: [Element]
  }

  /// Reads the first version.
  init<Element>(
    _ bytes: [UInt8], key: String?, decoding: ElementDecoding<Element>,
    into elements: inout [Element]
  ) throws(JSONError) {
    document = try JSONDocument(bytes, key: key)
    do throws(UndecodableElement) {
      elements = try decoding.decode(document.values)
    } catch {
      throw document.error(error)
    }
  }

  /// Reads the next version: what it has in common with this one is not decoded again.
  ///
  /// - Parameter elements: Those of this version.
  /// - Returns: What is new; nil if no byte is.
  /// - Throws: what is wrong with the next version; this one stays.
  mutating func update<Element>(
    for difference: FileDifference.Bytes, elements: some RandomAccessCollection<Element>,
    decoding: ElementDecoding<Element>
  ) throws(JSONError) -> Change<Element>? {
    guard let edit = try document.edit(for: difference) else { return nil }
    let change = edit.change(of: elements, decoded: try decode(edit, decoding))
    document.apply(edit)
    return change
  }

  private func decode<Element>(
    _ edit: JSONDocumentEdit, _ decoding: ElementDecoding<Element>
  ) throws(JSONError) -> [Element] {
    let new = edit.origins.indices.filter { edit.origins[$0] < 0 }
    let values = JSONValues(
      text: edit.text, spans: new.map { edit.spans[$0] }, key: document.key)
    do throws(UndecodableElement) {
      return try decoding.decode(values)
    } catch {
      var next = document
      next.apply(edit)
      var fault = error
      fault.offset = edit.elements.lowerBound + new[error.offset]
      throw next.error(fault)
    }
  }
}

extension JSONDocumentEdit {
  /// How many elements at the start, and how many at the end, stay as they are.
  private var unchanged: (first: Int, last: Int) {
    let limit = min(origins.count, elements.count)
    var first = 0
    while first < limit, origins[first] == elements.lowerBound + first { first += 1 }
    var last = 0
    while last < limit - first,
      origins[origins.count - last - 1] == elements.upperBound - last - 1
    {
      last += 1
    }
    return (first, last)
  }

  /// Puts what was decoded between the elements that are kept.
  fileprivate func change<Element>(
    of old: some RandomAccessCollection<Element>, decoded: [Element]
  ) -> JSONFileContents.Change<Element> {
    func element(_ offset: Int) -> Element { old[old.index(old.startIndex, offsetBy: offset)] }
    let (first, last) = unchanged
    let start = elements.lowerBound + first
    var change = JSONFileContents.Change<Element>(
      range: start..<(elements.upperBound - last), replacements: [], added: decoded)
    change.replacements.reserveCapacity(origins.count - first - last)
    var isKept = Array(repeating: false, count: change.range.count)
    var next = decoded.makeIterator()
    for origin in origins[first..<(origins.count - last)] {
      if origin >= 0 {
        let element = element(origin)
        change.replacements.append(element)
        // One old text may stand for several new ones, of which one may be outside.
        if !change.range.contains(origin) || isKept[origin - start] {
          change.added.append(element)
        } else {
          isKept[origin - start] = true
        }
      } else if let element = next.next() {
        change.replacements.append(element)
      }
    }
    for offset in change.range where !isKept[offset - start] {
      change.removed.append(element(offset))
    }
    return change
  }
}
