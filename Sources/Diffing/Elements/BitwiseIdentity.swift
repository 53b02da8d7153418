/// An identity that equals another one exactly where all of its bytes do.
///
/// Differences then compare and hash it by its bytes, several times as fast as by `==` and
/// `hash(into:)`. Integers conform. A type of one's own can if it holds nothing but such values, has no
/// unused bytes between them, and has the `==` that the compiler writes.
public protocol BitwiseIdentity: Hashable {}

extension Bool: BitwiseIdentity {}
extension Int: BitwiseIdentity {}
extension Int8: BitwiseIdentity {}
extension Int16: BitwiseIdentity {}
extension Int32: BitwiseIdentity {}
extension Int64: BitwiseIdentity {}
extension Int128: BitwiseIdentity {}
extension UInt: BitwiseIdentity {}
extension UInt8: BitwiseIdentity {}
extension UInt16: BitwiseIdentity {}
extension UInt32: BitwiseIdentity {}
extension UInt64: BitwiseIdentity {}
extension UInt128: BitwiseIdentity {}
extension Unicode.Scalar: BitwiseIdentity {}
extension ObjectIdentifier: BitwiseIdentity {}
