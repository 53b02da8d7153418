/// What tells one push from all others.
public struct PushIdentifier: Hashable, Sendable, Codable, CustomStringConvertible {
  /// 32 hexadecimal digits.
  public let description: String

  /// Makes one that no other has: 128 bits of chance.
  public init() {
    let digits = [UInt64.random(in: 0 ... .max), UInt64.random(in: 0 ... .max)].map { part in
      let text = String(part, radix: 16)
      return String(repeating: "0", count: 16 - text.count) + text
    }
    description = digits.joined()
  }

  public init(from decoder: any Decoder) throws {
    description = try decoder.singleValueContainer().decode(String.self)
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
