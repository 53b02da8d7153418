extension FixedWidthInteger where Self: UnsignedInteger {
  /// All hexadecimal digits of the number, with zeros at the start, in lower case.
  package var hexadecimal: String {
    let text = String(self, radix: 16)
    return String(repeating: "0", count: Self.bitWidth / 4 - text.count) + text
  }
}
