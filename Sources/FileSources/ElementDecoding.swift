import Foundation
import ReactiveSignals

/// An element that could not be decoded.
///
/// Not nested: the optimizer of Swift 6.3 fails on thrown types that depend on a type parameter.
struct UndecodableElement: Error {
  /// Its offset among those that were to be decoded.
  var offset: Int
  var reason: String
}

/// Turns JSON elements into those of a source.
struct ElementDecoding<Element: Sendable>: Sendable {
  /// Decodes all of them, or none.
  var decode: @Sendable ([JSONElement]) throws(UndecodableElement) -> [Element]

  /// Decodes one after the other.
  init(each decode: @escaping @Sendable (JSONElement) throws -> Element) {
    self.decode = { (elements) throws(UndecodableElement) in
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

extension ElementDecoding where Element: Decodable {
  /// Decodes many at a time, which saves most of what it costs to begin, on all processors.
  init(configuring: @escaping @Sendable (JSONDecoder) -> Void) {
    decode = { (elements) throws(UndecodableElement) in
      // So many that beginning costs little, so few that their text needs little memory.
      let size = 1_024
      let count = (elements.count + size - 1) / size
      @Sendable func decodeBatch(_ batch: Int) -> Result<[Element], UndecodableElement> {
        let range = (batch * size)..<min((batch + 1) * size, elements.count)
        return Result { () throws(UndecodableElement) in
          try Self.decode(elements[range], configuring)
        }
      }
      if count <= 1 { return count == 0 ? [] : try decodeBatch(0).get() }
      let results = SharedResults(
        Array(repeating: Result<[Element], UndecodableElement>.success([]), count: count))
      DispatchQueue.concurrentPerform(iterations: count) { batch in
        let result = decodeBatch(batch)
        results.values.withLock { $0[batch] = result }
      }
      var decoded: [Element] = []
      decoded.reserveCapacity(elements.count)
      for result in results.values.withLock({ $0 }) { decoded += try result.get() }
      return decoded
    }
  }

  private static func decode(
    _ elements: ArraySlice<JSONElement>, _ configure: (JSONDecoder) -> Void
  ) throws(UndecodableElement) -> [Element] {
    let decoder = JSONDecoder()
    configure(decoder)
    var text: [UInt8] = [UInt8(ascii: "[")]
    text.reserveCapacity(elements.reduce(2) { $0 + $1.storage.bytes.count + 1 })
    for element in elements {
      if text.count > 1 { text.append(UInt8(ascii: ",")) }
      text += element.storage.bytes
    }
    text.append(UInt8(ascii: "]"))
    do {
      return try decoder.decode([Element].self, from: Data(text))
    } catch {
      let offset = (error as? DecodingError)?.firstIndex ?? 0
      throw UndecodableElement(
        offset: elements.startIndex + offset, reason: Self.reason(error, depth: 1))
    }
  }
}

/// What several threads fill in.
private final class SharedResults<Value: Sendable>: Sendable {
  let values: Locked<[Value]>
  init(_ values: [Value]) { self.values = Locked(values) }
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
