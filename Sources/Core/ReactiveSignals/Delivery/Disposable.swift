import SwappablePrimitives
import Synchronization

/// A handle to an observation.
///
/// The observation lasts until you call ``dispose()`` or release the handle. While it lasts, it
/// keeps the observed source, and everything upstream of it, alive.
public final class Disposable: @unchecked Sendable {
  // Sendable: only the thread that sets `isOpen` to false accesses `closure`, `waiting` and `kept`.
  // All other properties are set once, in the initializer.

  private let isOpen = Atomic<Bool>(true)
  private var closure: (@Sendable () -> Void)?
  private let observation: ObserverList.Reference?
  /// The mailbox. It is retained because the end may be pending after the observers are removed.
  private var waiting: (any MailboxFlushing)?
  private var kept: AnyObject?
  /// The domain that may still be delivering after the end. Like `mailbox`, it does not retain what
  /// the observer captured.
  private let domain: Domain?
  private weak let mailbox: (any MailboxFlushing)?

  package init(_ observation: Observation, keeping kept: AnyObject?) {
    self.observation = observation.reference
    self.kept = kept
    domain = observation.domain
    waiting = observation.mailbox
    mailbox = waiting
  }

  /// Creates a handle that calls a closure once, when the handle is disposed of or released.
  ///
  /// - Parameter dispose: The closure to call, on the thread that disposes of the handle.
  public init(_ dispose: @escaping @Sendable () -> Void) {
    closure = dispose
    observation = nil
    domain = nil
    mailbox = nil
  }

  deinit {
    dispose()
  }

  /// Calls a closure after the end of the observation. Only the creator of the handle calls this, before anybody else has it.
  package func onDispose(_ body: @escaping @Sendable () -> Void) { closure = body }

  /// A Boolean value that indicates whether the observation has ended.
  public var isDisposed: Bool {
    schedulePoint()
    return !isOpen.load(ordering: .acquiring)
  }

  /// Ends the observation without waiting.
  ///
  /// No new call of the observer begins after this method returns. A call that another thread has
  /// already begun may still finish. If you call this method inside the observer, the current call
  /// is the last one.
  ///
  /// Values captured by the observer are released when the current propagation pass ends, at the
  /// latest.
  public func dispose() {
    schedulePoint()
    guard isOpen.exchange(false, ordering: .acquiringAndReleasing) else { return }
    let (closure, waiting, kept) = (self.closure.take(), self.waiting.take(), self.kept.take())
    waiting?.close()
    observation?.dispose()
    closure?()
    withExtendedLifetime(kept) {}
  }

  /// Ends the observation and waits for a propagation pass in progress on another thread.
  ///
  /// The method also waits if the handle was disposed of before. Inside the observer itself, it
  /// returns immediately.
  ///
  /// - Warning: Do not hold a lock that the observer needs. The call would deadlock.
  public func disposeAndWait() {
    dispose()
    let mailbox = mailbox
    if mailbox?.isCalling == true { return }
    domain?.waitForPassInProgress()
    mailbox?.waitForCall()
  }

  /// Adds the handle to a bag, which disposes of it together with its other handles.
  public func store(in bag: DisposeBag) {
    bag.add(self)
  }
}

/// A collection of handles that are disposed of together, when the bag is released or on request.
public final class DisposeBag: Sendable {
  private let state = Locked(State())

  private struct State: Sendable {
    var disposables: [Disposable] = []
    /// The number of handles at which disposed ones are removed.
    var sweepAt = 32
  }

  /// Creates an empty bag.
  public init() {}

  deinit {
    dispose()
  }

  /// Adds a handle to the bag.
  public func add(_ disposable: Disposable) {
    let swept = state.withLock { state -> [Disposable] in
      state.disposables.append(disposable)
      guard state.disposables.count > state.sweepAt else { return [] }
      let all = state.disposables
      state.disposables = all.filter { !$0.isDisposed }
      state.sweepAt = max(32, state.disposables.count * 2)
      return all
    }
    _ = consume swept
  }

  /// Disposes of all handles in the bag and removes them. You can add more handles afterwards.
  public func dispose() {
    let disposables = state.withLock { state in
      defer { state.disposables = [] }
      return state.disposables
    }
    for disposable in disposables { disposable.dispose() }
  }
}
