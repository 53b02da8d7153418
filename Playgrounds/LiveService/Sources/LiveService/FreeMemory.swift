import Dispatch
import NIOConcurrencyHelpers

/// The memory of connections that have ended.
///
/// The C library keeps it for later use. After many connections at the same time, that would be far more than the service
/// needs.
enum FreeMemory {
  private static let isScheduled = NIOLockedValueBox(false)

  /// Returns free memory to the system, once for all calls of a second.
  static func releaseSoon() {
    let isFirst = isScheduled.withLockedValue { isScheduled in
      defer { isScheduled = true }
      return !isScheduled
    }
    guard isFirst else { return }
    DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + .seconds(1)) {
      isScheduled.withLockedValue { $0 = false }
      release()
    }
  }
}
