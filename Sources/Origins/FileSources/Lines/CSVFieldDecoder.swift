import Foundation
import SwappablePrimitives

extension ElementDecoding where Element: Decodable {
  /// Creates a decoding of rows, whose fields are strings, that uses `JSONDecoder`.
  init(rowsConfiguring configure: @escaping @Sendable (JSONDecoder) -> Void) {
    let rows = ElementDecoding<RowElement<Element>>(configuring: { decoder in
      configure(decoder)
      decoder.userInfo[Configuration.key] = Configuration(apply: configure)
    })
    run = { values in
      let decoded = rows.run(values)
      var elements = DecodedValues<Element>(errorsOf: decoded)
      elements.elements = decoded.elements.map(\.element)
      return elements
    }
  }
}

/// The closure that configures a decoder, in the information that the decoder passes on.
private struct Configuration: Sendable {
  static let key: CodingUserInfoKey = {
    guard let key = CodingUserInfoKey(rawValue: "swappable.configuration") else {
      preconditionFailure("a key of any text exists")
    }
    return key
  }()

  let apply: @Sendable (JSONDecoder) -> Void
}

/// The element of a row.
private struct RowElement<Element: Decodable & Sendable>: Decodable, Sendable {
  let element: Element

  init(from decoder: any Decoder) throws {
    element = try Element(from: RowDecoder(base: decoder))
  }
}

/// A decoder of a row that reads numbers and Boolean values from strings.
private struct RowDecoder: Decoder {
  let base: any Decoder

  var codingPath: [any CodingKey] { base.codingPath }
  var userInfo: [CodingUserInfoKey: Any] { base.userInfo }

  func container<Key>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(RowContainer(base: try base.container(keyedBy: type), row: base))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { try base.unkeyedContainer() }
  func singleValueContainer() throws -> any SingleValueDecodingContainer {
    try base.singleValueContainer()
  }
}

private struct RowContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let base: KeyedDecodingContainer<Key>
  let row: any Decoder

  var codingPath: [any CodingKey] { base.codingPath }
  var allKeys: [Key] { base.allKeys }

  func contains(_ key: Key) -> Bool { base.contains(key) }

  func decodeNil(forKey key: Key) throws -> Bool {
    try base.decode(String.self, forKey: key).isEmpty
  }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    let text: String
    do {
      if let scalar = type as? any (Decodable & LosslessStringConvertible).Type,
        type is any Numeric.Type || type == Bool.self
      {
        text = try base.decode(String.self, forKey: key)
        if let value = scalar.init(text) as? Value { return value }
        throw DecodingError.typeMismatch(
          type,
          DecodingError.Context(
            codingPath: codingPath + [key], debugDescription: "The field is \"\(text)\"."))
      }
      return try base.decode(type, forKey: key)
    } catch DecodingError.typeMismatch(let expected, let context) {
      // The type is read from no string.
      let decoder = JSONDecoder()
      (row.userInfo[Configuration.key] as? Configuration)?.apply(decoder)
      guard let text = try? base.decode(String.self, forKey: key),
        let value = try? decoder.decode(type, from: Data(text.utf8))
      else { throw DecodingError.typeMismatch(expected, context) }
      return value
    }
  }

  func nestedContainer<Nested>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    try base.nestedContainer(keyedBy: type, forKey: key)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try base.nestedUnkeyedContainer(forKey: key)
  }

  func superDecoder() throws -> any Decoder { try base.superDecoder() }
  func superDecoder(forKey key: Key) throws -> any Decoder { try base.superDecoder(forKey: key) }
}
