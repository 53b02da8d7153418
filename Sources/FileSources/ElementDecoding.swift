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
        (context, "there is no member \"\(key.stringValue)\"")
      case .valueNotFound(let type, let context): (context, "a \(type) is expected, not null")
      case .typeMismatch(let type, let context): (context, "a \(type) is expected")
      case .dataCorrupted(let context): (context, "the value cannot be read")
      @unknown default: (DecodingError.Context(codingPath: [], debugDescription: ""), "\(error)")
      }
    let path = context.codingPath.dropFirst(depth).map { key in
      key.intValue.map { "[\($0)]" } ?? ".\(key.stringValue)"
    }.joined()
    return (path.isEmpty ? "" : "at \(path): ") + what + ". " + context.debugDescription
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
        try Self.decode(values, batch, configuring)
      }
    }
  }

  private static func decode(
    _ values: JSONValues, _ batch: Range<Int>, _ configure: (JSONDecoder) -> Void
  ) throws(UndecodableElement) -> [Element] {
    let decoder = JSONDecoder()
    configure(decoder)
    do {
      return try decoder.decode([Element].self, from: values.array(batch))
    } catch {
      let offset = (error as? DecodingError)?.firstIndex ?? 0
      throw UndecodableElement(
        offset: batch.lowerBound + offset, reason: Self.reason(error, depth: 1))
    }
  }
}

extension DecodingError {
  /// The offset of the element of the outermost array.
  fileprivate var firstIndex: Int? {
    switch self {
    case .keyNotFound(_, let context), .valueNotFound(_, let context),
      .typeMismatch(_, let context), .dataCorrupted(let context):
      context.codingPath.first?.intValue
    @unknown default: nil
    }
  }
}
