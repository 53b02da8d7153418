import Foundation

/// The JSON encoding of elements and versions in all stores.
enum JSONCoding {
  private static let encoder = {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .withoutEscapingSlashes
    // A store must be able to save every number.
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    return encoder
  }()

  static let decoder = {
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    return decoder
  }()

  /// Encodes a value.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - name: The name of the value for the error.
  ///   - path: The path of the file or database for the error.
  static func encode(
    _ value: some Encodable, _ name: String, path: String?
  ) throws(StoreError) -> Data {
    do {
      return try encoder.encode(value)
    } catch {
      throw StoreError(
        .unencodable, "\(name) cannot be encoded as JSON", path: path, place: place(of: error),
        help: "correct the encoding of its type; the saved state is unchanged", underlying: error)
    }
  }

  /// Returns the place of an encoding or decoding error, such as `at lists[0][3].title`, or `nil`.
  static func place(of error: any Error) -> String? {
    let path: [any CodingKey]? =
      switch error {
      case DecodingError.keyNotFound(_, let context), DecodingError.valueNotFound(_, let context),
        DecodingError.typeMismatch(_, let context), DecodingError.dataCorrupted(let context):
        context.codingPath
      case EncodingError.invalidValue(_, let context): context.codingPath
      default: nil
      }
    let text = path?.map { key in key.intValue.map { "[\($0)]" } ?? "." + key.stringValue }.joined()
    guard let text, !text.isEmpty else { return nil }
    return "at " + (text.hasPrefix(".") ? String(text.dropFirst()) : text)
  }
}

/// A 64-bit checksum of bytes (Fowler, Noll and Vo, variant 1a) that detects damage.
///
/// It detects each change of a single byte. It does not protect against deliberate changes.
struct Checksum: Sendable {
  private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

  mutating func add(_ bytes: some Sequence<UInt8>) {
    for byte in bytes { value = (value ^ UInt64(byte)) &* 0x100_0000_01b3 }
  }

  static func of(_ bytes: some Sequence<UInt8>) -> UInt64 {
    var sum = Checksum()
    sum.add(bytes)
    return sum.value
  }
}
