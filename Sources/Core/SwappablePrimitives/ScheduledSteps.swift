/// A place where another thread may go on: before an atomic operation that decides something.
///
/// In an ordinary build, this is nothing. Tests of schedules are built with `SWAPPABLE_SCHEDULES` and run a scenario under
/// each order of these places, of the acquisitions of locks, and of waits.
@_documentation(visibility: internal)
@inlinable @inline(__always)
public func schedulePoint(file: StaticString = #fileID, line: UInt = #line) {
  #if SWAPPABLE_SCHEDULES
    ScheduledThread.current?.reach(ScheduledStep(.atomic, nil, file, line))
  #endif
}

#if SWAPPABLE_SCHEDULES
  import Glibc

  /// What a thread is about to do.
  public struct ScheduledStep: Sendable {
    public enum Kind: String, Sendable {
      case begin, lock, wait, atomic
    }

    public let kind: Kind
    /// The lock or semaphore that the thread needs.
    public let object: ScheduledObject?
    public let file: StaticString
    public let line: UInt

    public init(_ kind: Kind, _ object: ScheduledObject?, _ file: StaticString, _ line: UInt) {
      (self.kind, self.object, self.file, self.line) = (kind, object, file, line)
    }

    /// A Boolean value that indicates whether the thread would not block.
    public var isPossible: Bool { object.map { $0.permits > 0 } ?? true }
  }

  /// A lock or a semaphore, as threads that a scheduler controls see it.
  public final class ScheduledObject: @unchecked Sendable {
    // Sendable: of the threads that a scheduler controls, one runs at a time.

    /// The number of threads that can go on. A lock that is free has one.
    public var permits: Int
    /// A number in the order of first use in a run, for reports and to recognize the step of a run that is repeated.
    public var number = 0
    public var run = 0

    public init(permits: Int) { self.permits = permits }

    /// Waits for a permit, and takes it, if a scheduler controls the calling thread.
    ///
    /// - Returns: `true` if it does.
    public func take(_ kind: ScheduledStep.Kind, _ file: StaticString, _ line: UInt) -> Bool {
      guard let thread = ScheduledThread.current else { return false }
      thread.reach(ScheduledStep(kind, self, file, line))
      permits -= 1
      return true
    }
  }

  /// A thread that a scheduler controls.
  open class ScheduledThread: @unchecked Sendable {
    // Sendable: see the subclass.

    public init() {}

    /// Returns when the thread may take a step.
    open func reach(_ step: ScheduledStep) {}

    private static let key: pthread_key_t = {
      var key = pthread_key_t()
      precondition(pthread_key_create(&key, nil) == 0, "no thread-specific key is left")
      return key
    }()

    /// The calling thread, or `nil` if no scheduler controls it. The thread that sets it keeps the object alive.
    public static var current: ScheduledThread? {
      get {
        pthread_getspecific(key).map { Unmanaged.fromOpaque($0).takeUnretainedValue() }
      }
      set {
        pthread_setspecific(key, newValue.map { Unmanaged.passUnretained($0).toOpaque() })
      }
    }
  }
#endif
