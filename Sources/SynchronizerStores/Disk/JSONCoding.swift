import Foundation

/// How elements and versions become JSON, in all stores.
enum JSONCoding {
  static func encoder() -> JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .withoutEscapingSlashes
    // A state must be kept whatever numbers it holds.
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    return encoder
  }

  static func decoder() -> JSONDecoder {
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    return decoder
  }

  /// Where a value could not be encoded or decoded, as `lists[0][3].title`; nil where it is not said.
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
