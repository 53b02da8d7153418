public import Diffing
public import Foundation
import SwappablePrimitives

/// An error of an element that cannot be decoded.
///
/// The type is not nested, because the optimizer of Swift 6.3 fails on thrown types that depend on a
/// type parameter.
package struct ElementDecodingError: Error {
  /// The offset of the element among the values to decode.
  package var offset: Int
  var code = JSONElement.ParsingError.Code.undecodable
  package var reason: String
}

/// The elements of JSON values, and the errors of the values that have no element.
struct DecodedValues<Element: Sendable>: Sendable {
  /// The elements in the order of their values.
  var elements: [Element] = []
  /// The offsets of the values that cannot be decoded.
  private(set) var failures: [Int] = []
  /// The error of the last value that cannot be decoded.
  private(set) var error: ElementDecodingError?

  init(_ elements: [Element] = []) { self.elements = elements }

  /// Creates results without elements that have the same errors as other results.
  init(errorsOf other: DecodedValues<some Sendable>) {
    failures = other.failures
    error = other.error
  }

  mutating func add(_ error: ElementDecodingError) {
    failures.append(error.offset)
    if let last = self.error, last.offset > error.offset { return }
    self.error = error
  }

  /// Adds the results of the values that follow.
  mutating func append(_ next: DecodedValues) {
    elements += next.elements
    failures += next.failures
    error = next.error ?? error
  }
}

/// A way to decode JSON values to the elements of a source.
package struct ElementDecoding<Element: Sendable>: Sendable {
  /// Decodes values. If they do not skip errors, only the first error counts.
  let run: @Sendable (JSONValues) -> DecodedValues<Element>

  /// Creates a decoding that calls a closure for each value.
  init(each decode: @escaping @Sendable (JSONElement) throws -> Element) {
    run = { values in
      let parsed = values.elements()
      var decoded = DecodedValues<Element>(errorsOf: parsed)
      if decoded.error != nil, !values.skipsErrors { return decoded }
      decoded.elements.reserveCapacity(parsed.elements.count)
      var failures = parsed.failures[...]
      var offset = 0
      for element in parsed.elements {
        while offset == failures.first {
          failures.removeFirst()
          offset += 1
        }
        do {
          decoded.elements.append(try decode(element))
        } catch {
          decoded.add(ElementDecodingError(offset: offset, reason: Self.reason(error, depth: 0)))
          if !values.skipsErrors { break }
        }
        offset += 1
      }
      return decoded
    }
  }

  /// Decodes all values.
  ///
  /// - Throws: The error of the first value that cannot be decoded.
  func decode(_ values: JSONValues) throws(ElementDecodingError) -> [Element] {
    let decoded = run(values)
    if let error = decoded.error { throw error }
    return decoded.elements
  }

  /// Decodes elements that were parsed before.
  package func decode(_ elements: [JSONElement]) throws(ElementDecodingError) -> [Element] {
    if let elements = elements as? [Element] { return elements }
    var text: [UInt8] = []
    var spans: [Range<Int>] = []
    text.reserveCapacity(elements.reduce(0) { $0 + $1.utf8.count })
    spans.reserveCapacity(elements.count)
    for element in elements {
      spans.append(text.count..<text.count + element.utf8.count)
      text += element.utf8
    }
    return try decode(JSONValues(text: text, spans: spans, key: nil))
  }

  /// Describes an error of a decoder.
  ///
  /// - Parameter depth: The number of keys at the start of the path that do not belong to the element.
  private static func reason(_ error: any Error, depth: Int) -> String {
    guard let error = error as? DecodingError else { return "\(error)" }
    let (context, problem): (DecodingError.Context, String) =
      switch error {
      case .keyNotFound(let key, let context):
        (context, "there is no member \"\(key.stringValue)\"; add it, or make it optional")
      case .valueNotFound(let type, let context):
        (context, "a value of type \(type) is expected, not null; add one, or make it optional")
      case .typeMismatch(let type, let context):
        (context, "a value of type \(type) is expected. \(context.debugDescription)")
      // The text was checked before and is valid JSON, so this error is about a number.
      case .dataCorrupted(let context) where context.debugDescription.hasSuffix("not valid JSON."):
        (context, "a number does not fit its type; correct it, or take a wider type")
      case .dataCorrupted(let context):
        (context, "the value cannot be read. \(context.debugDescription)")
      @unknown default: (DecodingError.Context(codingPath: [], debugDescription: ""), "\(error)")
      }
    let path = context.codingPath.dropFirst(depth).map { key in
      key.intValue.map { "[\($0)]" } ?? ".\(key.stringValue)"
    }.joined()
    let reason = (path.isEmpty ? "" : "at \(path): ") + problem
    return reason.hasSuffix(".") ? String(reason.dropLast()) : reason
  }
}

extension ElementDecoding where Element == JSONElement {
  /// Creates a decoding that returns the JSON elements themselves.
  package init() {
    run = { $0.elements() }
  }
}

extension ElementDecoding where Element: Decodable {
  /// Creates a decoding that uses `JSONDecoder`. It decodes values in batches, which amortizes the start
  /// of a decoder.
  package init(configuring: @escaping @Sendable (JSONDecoder) -> Void) {
    run = { values in values.inBatches { Self.decode(values, in: $0, configuring) } }
  }

  private static func decode(
    _ values: JSONValues, in batch: Range<Int>, _ configure: (JSONDecoder) -> Void
  ) -> DecodedValues<Element> {
    if let elements = try? decode(values, batch, configure) { return DecodedValues(elements) }
    // The path of the error does not identify the element: an element may decode text that it
    // contains, and rethrow the error. Therefore, decode each element again.
    var decoded = DecodedValues<Element>()
    for offset in batch {
      do {
        decoded.elements += try decode(values, offset..<offset + 1, configure)
      } catch {
        decoded.add(ElementDecodingError(offset: offset, reason: reason(error, depth: 1)))
        if !values.skipsErrors { break }
      }
    }
    return decoded
  }

  private static func decode(
    _ values: JSONValues, _ range: Range<Int>, _ configure: (JSONDecoder) -> Void
  ) throws -> [Element] {
    let decoder = JSONDecoder()
    configure(decoder)
    return try decoder.decode([Element].self, from: values.array(range))
  }
}

/// The ranges of valid JSON values in a text.
struct JSONValues: Sendable {
  let text: [UInt8]
  let spans: [Range<Int>]
  /// The name of the member that identifies an element, if there is one.
  let key: String?
  /// The number of arrays and objects around each value.
  var depth = 1
  var skipsErrors = false

  var count: Int { spans.count }

  /// Returns the values as elements. A value that lacks its key has an error.
  func elements() -> DecodedValues<JSONElement> {
    let key = key.map(JSONElement.quoted)
    return inBatches { elements($0, key: key) }
  }

  private func elements(_ batch: Range<Int>, key: [UInt8]?) -> DecodedValues<JSONElement> {
    var parsed = DecodedValues<JSONElement>()
    parsed.elements.reserveCapacity(batch.count)
    let capacity = spans[batch].reduce(0) { max($0, $1.count) }
    JSONScanner.withScanner(of: text, from: spans[batch.lowerBound].lowerBound, capacity: capacity)
    { scanner in
      for offset in batch {
        scanner.jump(into: spans[offset])
        do throws(JSONScanner.ScanError) {
          parsed.elements.append(
            try JSONElement.scanElement(&scanner, depth: depth, key: key))
        } catch {
          parsed.add(
            ElementDecodingError(offset: offset, code: error.code, reason: error.reason))
          if !skipsErrors { return }
        }
      }
    }
    return parsed
  }
}

extension JSONValues {
  /// The number of values in a batch: large enough to amortize its start, and small enough to use all
  /// processors.
  private static let batchSize = 256

  /// Decodes the values in batches, in parallel.
  fileprivate func inBatches<Element>(
    _ decode: @Sendable (Range<Int>) -> DecodedValues<Element>
  ) -> DecodedValues<Element> {
    let size = Self.batchSize
    let count = (self.count + size - 1) / size
    if count == 0 { return DecodedValues() }
    if count == 1 { return decode(0..<self.count) }
    let results = Locked(Array(repeating: DecodedValues<Element>(), count: count))
    DispatchQueue.concurrentPerform(iterations: count) { batch in
      let range = (batch * size)..<min((batch + 1) * size, self.count)
      let result = decode(range)
      results.withLock { $0[batch] = result }
    }
    var all = DecodedValues<Element>()
    all.elements.reserveCapacity(self.count)
    for result in results.withLock({ $0 }) {
      all.append(result)
      if all.error != nil, !skipsErrors { break }
    }
    return all
  }

  /// Returns the text of a JSON array that contains the values in a range.
  func array(_ range: Range<Int>) -> Data {
    var text = Data(capacity: spans[range].reduce(2) { $0 + $1.count + 1 })
    text.append(UInt8(ascii: "["))
    for span in spans[range] {
      if text.count > 1 { text.append(UInt8(ascii: ",")) }
      text.append(contentsOf: self.text[span])
    }
    text.append(UInt8(ascii: "]"))
    return text
  }
}

extension UUID: Differentiable, _BitwiseIdentity {}
extension URL: Differentiable {}
extension Date: Differentiable {}
extension Data: Differentiable {}
extension Decimal: Differentiable {}
