#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Compares bytes as unsigned numbers, and returns a number below, equal to or above 0.
@usableFromInline
package func compareBytes(_ left: UnsafeRawPointer, _ right: UnsafeRawPointer, count: Int) -> Int {
  Int(memcmp(left, right, count))
}
