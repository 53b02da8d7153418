/// Names of files for keys of any kind.
///
/// They consist of `a` to `z`, digits and `- _ . =`, so that they are told apart where case or Unicode
/// normalisation do not count, and are no hidden files and no devices anywhere. Short plain keys are their
/// own names; other bytes are written as `=` and two hexadecimal digits. The store's own files begin with
/// `+`, which no name does.
enum FileName {
  /// Longer ones are cut, and a hash of the key tells them apart.
  static let limit = 180
  private static let keptLength = 100

  /// The names that a key may have, the best first; without end.
  static func candidates(for key: String.UTF8View, hash: UInt64) -> some Sequence<String> {
    let escaped = escape(key)
    let fits = escaped.reduce(0) { $0 + $1.utf8.count } <= limit
    var length = 0
    let kept = escaped.prefix { part in
      length += part.utf8.count
      return length <= keptLength
    }
    // `h` is no hexadecimal digit: no escaped key has it there.
    let long = kept.joined() + "=h" + Checksum.digits(hash)
    return (0...).lazy.compactMap { number in
      switch number {
      case 0: fits ? (escaped.isEmpty ? "=" : escaped.joined()) : nil
      case 1: long
      default: "\(long)-\(number)"
      }
    }
  }

  /// Whether an index may name it: nothing outside of the folder, and none of the store's own files.
  static func isPossible(_ name: String) -> Bool {
    name.utf8.count <= 255 && !name.isEmpty && name.utf8.first != UInt8(ascii: ".")
      && name.utf8.allSatisfy { isPlain($0) || [UInt8(ascii: "."), UInt8(ascii: "=")].contains($0) }
  }

  private static func escape(_ key: String.UTF8View) -> [String] {
    let dot = UInt8(ascii: ".")
    let isDevice = devices.contains(String(decoding: key.prefix { $0 != dot }, as: UTF8.self))
    var parts: [String] = []
    parts.reserveCapacity(key.count)
    var last = dot
    for (offset, byte) in key.enumerated() {
      let isKept =
        byte == dot
        ? last != dot && offset != key.count - 1
        // Programs would take a name that begins with it for an option.
        : isPlain(byte) && !(offset == 0 && (byte == UInt8(ascii: "-") || isDevice))
      parts.append(isKept ? String(UnicodeScalar(byte)) : "=" + hexadecimal(byte))
      last = byte
    }
    return parts
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "-"), UInt8(ascii: "_"):
      true
    default: false
    }
  }

  private static func hexadecimal(_ byte: UInt8) -> String {
    (byte < 16 ? "0" : "") + String(byte, radix: 16)
  }

  private static let devices: Set<String> = Set(
    ["con", "prn", "aux", "nul"]
      + (0...9).flatMap { ["com\($0)", "lpt\($0)"] })
}
