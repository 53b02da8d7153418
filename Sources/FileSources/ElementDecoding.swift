import Foundation

/// Turns JSON elements into those of a source.
struct ElementDecoding<Element: Sendable>: Sendable {
  /// An element that could not be decoded.
  struct Fault: Error {
    /// Its offset among those that were to be decoded.
    var offset: Int
    var reason: String
    var underlying: any Error
  }

  /// Decodes all of them, or none.
  var decode: @Sendable ([JSONElement]) throws(Fault) -> [Element]

  /// Decodes one after the other.
  init(each decode: @escaping @Sendable (JSONElement) throws -> Element) {
    self.decode = { (elements) throws(Fault) in
      var decoded: [Element] = []
      decoded.reserveCapacity(elements.count)
      for (offset, element) in elements.enumerated() {
        do {
          decoded.append(try decode(element))
        } catch {
          throw Fault(offset: offset, reason: Self.reason(error, depth: 0), underlying: error)
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

extension ElementDecoding where Element: Decodable {
  /// Decodes many at a time, which saves most of what it costs to begin.
  init(configuring: @escaping @Sendable (JSONDecoder) -> Void) {
    decode = { (elements) throws(Fault) in
      let decoder = JSONDecoder()
      configuring(decoder)
      var decoded: [Element] = []
      decoded.reserveCapacity(elements.count)
      // So many that beginning costs little, so few that their text needs little memory.
      for start in stride(from: 0, to: elements.count, by: 1_024) {
        let batch = elements[start..<min(start + 1_024, elements.count)]
        var text = Data([UInt8(ascii: "[")])
        for element in batch {
          if text.count > 1 { text.append(UInt8(ascii: ",")) }
          text.append(contentsOf: element.storage.bytes)
        }
        text.append(UInt8(ascii: "]"))
        do {
          decoded += try decoder.decode([Element].self, from: text)
        } catch {
          let offset = (error as? DecodingError)?.firstIndex ?? 0
          throw Fault(
            offset: start + offset, reason: Self.reason(error, depth: 1), underlying: error)
        }
      }
      return decoded
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
