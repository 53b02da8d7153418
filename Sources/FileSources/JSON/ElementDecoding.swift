package import Foundation
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

/// A way to decode JSON values to the elements of a source.
package struct ElementDecoding<Element: Sendable>: Sendable {
  /// Decodes all values, or throws.
  var decode: @Sendable (JSONValues) throws(ElementDecodingError) -> [Element]

  /// Creates a decoding that calls a closure for each value.
  init(each decode: @escaping @Sendable (JSONElement) throws -> Element) {
    self.decode = { (values) throws(ElementDecodingError) in
      let elements = try values.elements()
      var decoded: [Element] = []
      decoded.reserveCapacity(elements.count)
      for (offset, element) in elements.enumerated() {
        do {
          decoded.append(try decode(element))
        } catch {
          throw ElementDecodingError(offset: offset, reason: Self.reason(error, depth: 0))
        }
      }
      return decoded
    }
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
    decode = { (values) throws(ElementDecodingError) in try values.elements() }
  }
}

extension ElementDecoding where Element: Decodable {
  /// Creates a decoding that uses `JSONDecoder`. It decodes values in batches, which amortizes the start
  /// of a decoder.
  package init(configuring: @escaping @Sendable (JSONDecoder) -> Void) {
    decode = { (values) throws(ElementDecodingError) in
      try values.inBatches { (batch) throws(ElementDecodingError) in
        try Self.decode(values, in: batch, configuring)
      }
    }
  }

  private static func decode(
    _ values: JSONValues, in batch: Range<Int>, _ configure: (JSONDecoder) -> Void
  ) throws(ElementDecodingError) -> [Element] {
    do {
      return try decode(values, batch, configure)
    } catch {
      // The path of the error does not identify the element: an element may decode text that it
      // contains, and rethrow the error. Therefore, decode each element again.
      for offset in batch {
        do {
          _ = try decode(values, offset..<offset + 1, configure)
        } catch {
          throw ElementDecodingError(offset: offset, reason: Self.reason(error, depth: 1))
        }
      }
      throw ElementDecodingError(offset: batch.lowerBound, reason: Self.reason(error, depth: 1))
    }
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

  var count: Int { spans.count }

  /// Returns the values as elements.
  ///
  /// - Throws: An error for the first element that lacks its key.
  func elements() throws(ElementDecodingError) -> [JSONElement] {
    let key = key.map(JSONElement.quoted)
    return try inBatches { (batch) throws(ElementDecodingError) in
      try elements(batch, key: key)
    }
  }

  private func elements(
    _ batch: Range<Int>, key: [UInt8]?
  ) throws(ElementDecodingError) -> [JSONElement] {
    var elements: [JSONElement] = []
    elements.reserveCapacity(batch.count)
    let capacity = spans[batch].reduce(0) { max($0, $1.count) }
    do throws(JSONScanner.ScanError) {
      let start = spans[batch.lowerBound].lowerBound
      try JSONScanner.withScanner(of: text, from: start, capacity: capacity) {
        (scanner) throws(JSONScanner.ScanError) in
        for span in spans[batch] {
          scanner.jump(into: span)
          elements.append(try JSONElement.scanElement(&scanner, depth: depth, key: key))
        }
      }
    } catch {
      throw ElementDecodingError(
        offset: batch.lowerBound + elements.count, code: error.code, reason: error.reason)
    }
    return elements
  }
}

extension JSONValues {
  /// The number of values in a batch: large enough to amortize its start, and small enough to use all
  /// processors.
  private static let batchSize = 256

  /// Converts all values in batches, in parallel.
  ///
  /// - Throws: The error of the first batch that failed.
  func inBatches<Value: Sendable>(
    _ make: @Sendable (Range<Int>) throws(ElementDecodingError) -> [Value]
  ) throws(ElementDecodingError) -> [Value] {
    let size = Self.batchSize
    let count = (self.count + size - 1) / size
    if count == 0 { return [] }
    if count == 1 { return try make(0..<self.count) }
    let results = SharedResults(
      Array(repeating: Result<[Value], ElementDecodingError>.success([]), count: count))
    DispatchQueue.concurrentPerform(iterations: count) { batch in
      let range = (batch * size)..<min((batch + 1) * size, self.count)
      let result = Result { () throws(ElementDecodingError) in try make(range) }
      results.values.withLock { $0[batch] = result }
    }
    var values: [Value] = []
    values.reserveCapacity(self.count)
    for result in results.values.withLock({ $0 }) { values += try result.get() }
    return values
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

/// Results that several threads write.
private final class SharedResults<Value: Sendable>: Sendable {
  let values: Locked<[Value]>
  init(_ values: [Value]) { self.values = Locked(values) }
}
