import Foundation

/// An element that could not be decoded.
///
/// Not nested: the optimizer of Swift 6.3 fails on thrown types that depend on a type parameter.
struct UndecodableElement: Error {
  /// Its offset among those that were to be decoded.
  var offset: Int
  var code = JSONError.Code.undecodable
  var reason: String
}

/// Turns JSON values into the elements of a source.
struct ElementDecoding<Element: Sendable>: Sendable {
  /// Decodes all of them, or none.
  var decode: @Sendable (JSONValues) throws(UndecodableElement) -> [Element]

  /// Decodes one after the other.
  init(each decode: @escaping @Sendable (JSONElement) throws -> Element) {
    self.decode = { (values) throws(UndecodableElement) in
      let elements = try values.elements()
      var decoded: [Element] = []
      decoded.reserveCapacity(elements.count)
      for (offset, element) in elements.enumerated() {
        do {
          decoded.append(try decode(element))
        } catch {
          throw UndecodableElement(offset: offset, reason: Self.reason(error, depth: 0))
        }
      }
      return decoded
    }
  }

  private static func reason(_ error: any Error, depth: Int) -> String {
    guard let error = error as? DecodingError else { return "\(error)" }
    let (context, what): (DecodingError.Context, String) =
      switch error {
      case .keyNotFound(let key, let context):
        (context, "there is no member \"\(key.stringValue)\"; add it, or make it optional")
      case .valueNotFound(let type, let context):
        (context, "a value of type \(type) is expected, not null; give one, or make it optional")
      case .typeMismatch(let type, let context):
        (context, "a value of type \(type) is expected. \(context.debugDescription)")
      // The text is valid, that was checked before. So the decoder speaks of a number.
      case .dataCorrupted(let context) where context.debugDescription.hasSuffix("not valid JSON."):
        (context, "a number does not fit its type; correct it, or take a wider type")
      case .dataCorrupted(let context):
        (context, "the value cannot be read. \(context.debugDescription)")
      @unknown default: (DecodingError.Context(codingPath: [], debugDescription: ""), "\(error)")
      }
    let path = context.codingPath.dropFirst(depth).map { key in
      key.intValue.map { "[\($0)]" } ?? ".\(key.stringValue)"
    }.joined()
    let reason = (path.isEmpty ? "" : "at \(path): ") + what
    return reason.hasSuffix(".") ? String(reason.dropLast()) : reason
  }
}

extension ElementDecoding where Element == JSONElement {
  /// Takes the elements as they are.
  init() {
    decode = { (values) throws(UndecodableElement) in try values.elements() }
  }
}

extension ElementDecoding where Element: Decodable {
  /// Decodes many at a time, which saves most of what it costs to begin.
  init(configuring: @escaping @Sendable (JSONDecoder) -> Void) {
    decode = { (values) throws(UndecodableElement) in
      try values.inBatches { (batch) throws(UndecodableElement) in
        try Self.decode(values, in: batch, configuring)
      }
    }
  }

  private static func decode(
    _ values: JSONValues, in batch: Range<Int>, _ configure: (JSONDecoder) -> Void
  ) throws(UndecodableElement) -> [Element] {
    do {
      return try decode(values, batch, configure)
    } catch {
      // The path of an error does not tell which element it is: an element may decode text that it
      // holds, and pass on what is wrong there.
      for offset in batch {
        do {
          _ = try decode(values, offset..<offset + 1, configure)
        } catch {
          throw UndecodableElement(offset: offset, reason: Self.reason(error, depth: 1))
        }
      }
      throw UndecodableElement(offset: batch.lowerBound, reason: Self.reason(error, depth: 1))
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
