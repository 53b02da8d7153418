#if canImport(Darwin)
  package import Darwin
#else
  package import Glibc
#endif

/// The identity of a thread while the thread lives.
///
/// The lowest bit of `raw` is always 0, and `raw` itself is never 0. Both are free to use as marks.
@usableFromInline
package struct ThreadID: Hashable, Sendable {
  let raw: UInt

  /// The calling thread.
  @usableFromInline package static var current: ThreadID {
    #if canImport(Darwin)
      ThreadID(raw: UInt(bitPattern: pthread_self()))
    #else
      ThreadID(raw: UInt(pthread_self()))
    #endif
  }

  /// Lets other threads run.
  package static func yield() { sched_yield() }

  /// Lets the calling thread sleep.
  package static func sleep(milliseconds: UInt32) { usleep(milliseconds * 1_000) }
}

/// Returns a set of signals.
package func signalSet(_ signals: Int32...) -> sigset_t {
  var set = sigset_t()
  sigemptyset(&set)
  for signal in signals { sigaddset(&set, signal) }
  return set
}
