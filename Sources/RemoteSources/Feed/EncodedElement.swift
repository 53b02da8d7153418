import Diffing
import FileSources
import Foundation

/// An element of a program, and its JSON.
///
/// The history copies many elements with each change. Therefore, a copy is one reference.
struct EncodedElement<Element: Differentiable & Sendable>: EventElement {
  private final class Storage: Sendable {
    let element: Element
    let json: JSONElement
    let encodingFailure: String?

    init(_ element: Element, _ json: JSONElement, _ encodingFailure: String?) {
      (self.element, self.json, self.encodingFailure) = (element, json, encodingFailure)
    }
  }

  private let storage: Storage

  init(_ element: Element, _ json: JSONElement, encodingFailure: String? = nil) {
    storage = Storage(element, json, encodingFailure)
  }

  var json: JSONElement { storage.json }

  /// The reason why the element could not be encoded. Then ``json`` is null.
  var encodingFailure: String? { storage.encodingFailure }

  var differenceIdentifier: Element.DifferenceIdentifier { storage.element.differenceIdentifier }

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
