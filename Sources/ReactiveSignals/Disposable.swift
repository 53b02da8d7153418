import Synchronization

/// What keeps an observation going, and ends it.
///
/// Letting the last reference go disposes. While it lives, it keeps alive what is observed and
/// everything upstream of that.
public final class Disposable: @unchecked Sendable {
  // Sendable: `closure`, `waiting` and `kept` are touched by whoever turns `isOpen` off, and by nobody
  // else; the rest is set by the initialiser alone.

  private let isOpen = Atomic<Bool>(true)
  private var closure: (@Sendable () -> Void)?
  private let observation: ObserverList.Reference?
  /// Strong: the end may still wait to be told when the observation has gone.
  private var waiting: (any MailboxFlushing)?
  private var kept: AnyObject?
  /// Where calls may still be under way after the end; neither holds what the observer captured.
  private let domain: Domain?
  private weak let mailbox: (any MailboxFlushing)?

  package init(_ observation: Observation, keeping kept: AnyObject?) {
    self.observation = observation.reference
    self.kept = kept
    domain = observation.domain
    waiting = observation.mailbox
    mailbox = waiting
  }

  /// Makes one that calls a closure once, when it is disposed or let go.
  ///
  /// - Parameter dispose: Called on the thread that disposes.
  public init(_ dispose: @escaping @Sendable () -> Void) {
    closure = dispose
    observation = nil
    domain = nil
    mailbox = nil
  }

  deinit {
    dispose()
  }

  /// Whether it was disposed.
  public var isDisposed: Bool { !isOpen.load(ordering: .acquiring) }

  /// Ends the observation without waiting.
  ///
  /// The observer is not called afterwards, except that a call that another thread has already begun
  /// may still run; it is the last. Disposed where the observer runs, it is exact. What the observer
  /// captured is released, at the latest at the end of the round of delivery in progress.
  public func dispose() {
    end()
  }

  /// Ends the observation, and waits for the round of delivery in progress on another thread.
  ///
  /// It waits also where it was disposed before.
  ///
  /// Returns at once inside the observer itself. Must not be called while holding anything that an
  /// observer needs: that would wait for ever.
  public func disposeAndWait() {
    end()
    let mailbox = mailbox
    if mailbox?.isCalling == true { return }
    domain?.waitForPassInProgress()
    mailbox?.waitForCall()
  }

  /// Keeps it in a bag, to be disposed with the bag.
  public func store(in bag: DisposeBag) {
    bag.add(self)
  }

  private func end() {
    guard isOpen.exchange(false, ordering: .acquiringAndReleasing) else { return }
    let (closure, waiting, kept) = (self.closure, self.waiting, self.kept)
    self.closure = nil
    self.waiting = nil
    self.kept = nil
    waiting?.close()
    observation?.dispose()
    closure?()
    withExtendedLifetime(kept) {}
  }
}
