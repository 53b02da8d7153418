#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The identity of a thread while the thread lives.
///
/// The lowest bit of `raw` is always 0, and `raw` itself is never 0. Both are free to use as marks.
package struct ThreadID: Hashable, Sendable {
  package let raw: UInt

  package init(raw: UInt) {
    self.raw = raw
  }

  /// The calling thread.
  package static var current: ThreadID {
    #if canImport(Glibc) || canImport(Musl)
      ThreadID(raw: UInt(pthread_self()))
    #else
      ThreadID(raw: UInt(bitPattern: pthread_self()))
    #endif
  }
}
