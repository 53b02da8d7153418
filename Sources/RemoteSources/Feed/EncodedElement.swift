import Diffing
import FileSources
import Foundation

/// An element of a program, and its JSON.
struct EncodedElement<Element: Differentiable & Sendable>: EventElement {
  private let element: Element
  let json: JSONElement
  /// The reason why the element could not be encoded. Then ``json`` is null.
  private let encodingFailure: String?

  init(_ element: Element, _ json: JSONElement, encodingFailure: String? = nil) {
    (self.element, self.json, self.encodingFailure) = (element, json, encodingFailure)
  }

  var differenceIdentifier: Element.DifferenceIdentifier { element.differenceIdentifier }

  func encodingFailure(key: String?) -> String? { encodingFailure }

  func isContentEqual(to source: Self) -> Bool {
    json == source.json && encodingFailure == source.encodingFailure
  }
}

/// The encoding of elements as JSON.
///
/// Members are sorted by name. Therefore, equal elements have equal texts in every process.
struct ElementEncoding: Sendable {
  private let key: String?
  private let encoder = JSONEncoder()

  /// - Parameters:
  ///   - key: The name of the member that identifies an element, if there is one.
  ///   - configure: A closure that configures the encoder.
  init(key: String?, configure: (JSONEncoder) -> Void) {
    self.key = key
    encoder.outputFormatting = .withoutEscapingSlashes
    configure(encoder)
    encoder.outputFormatting.remove(.prettyPrinted)
    encoder.outputFormatting.insert(.sortedKeys)
  }

  func encode<Element: Encodable>(_ element: Element) -> EncodedElement<Element> {
    do {
      return EncodedElement(
        element, try JSONElement(parsing: Array(encoder.encode(element)), key: key))
    } catch {
      return EncodedElement(element, .null, encodingFailure: Self.reason(error))
    }
  }

  private static func reason(_ error: any Error) -> String {
    guard case EncodingError.invalidValue(_, let context) = error else { return "\(error)" }
    let path = context.codingPath.map { key in
      key.intValue.map { "[\($0)]" } ?? ".\(key.stringValue)"
    }.joined()
    return path.isEmpty ? context.debugDescription : "at \(path): \(context.debugDescription)"
  }
}
