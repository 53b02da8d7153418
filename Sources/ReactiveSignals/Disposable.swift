import Synchronization

/// What keeps an observation going, and ends it.
///
/// Letting the last reference go disposes. While it lives, it keeps alive what is observed and
/// everything upstream of that.
public final class Disposable: @unchecked Sendable {
  // Sendable: `ending` and `kept` are touched by whoever turns `isOpen` off, and by nobody else; `domain`
  // and `mailbox` are set by the initialiser alone.

  private let isOpen = Atomic<Bool>(true)
  private var ending: Ending
  private var kept: AnyObject?
  /// Where calls may still be under way after the end; neither holds what the observer captured.
  private let domain: Domain?
  private weak var mailbox: (any MailboxFlushing)?

  private enum Ending {
    case observation(Observation)
    case closure(@Sendable () -> Void)
    case ended
  }

  package init(_ observation: Observation, keeping kept: AnyObject?) {
    ending = .observation(observation)
    self.kept = kept
    domain = observation.domain
    mailbox = observation.mailbox
  }

  /// Makes one that calls a closure once, when it is disposed or let go.
  ///
  /// - Parameter dispose: Called on the thread that disposes.
  public init(_ dispose: @escaping @Sendable () -> Void) {
    ending = .closure(dispose)
    domain = nil
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

  /// Ends the observation, and waits for the round of delivery in progress on another thread, also
  /// where it was disposed before.
  ///
  /// Returns at once inside the observer itself. Must not be called while holding anything that an
  /// observer needs: that would wait for ever.
  public func disposeAndWait() {
    end()
    let mailbox = mailbox
    if mailbox?.isCalling == true { return }
    domain?.waitForRoundInProgress()
    mailbox?.waitForCall()
  }

  /// Keeps it in a bag, to be disposed with the bag.
  public func store(in bag: DisposeBag) {
    bag.add(self)
  }

  private func end() {
    guard isOpen.exchange(false, ordering: .acquiringAndReleasing) else { return }
    let ending = self.ending
    let kept = self.kept
    self.ending = .ended
    self.kept = nil
    switch ending {
    case .observation(let observation): observation.dispose()
    case .closure(let dispose): dispose()
    case .ended: break
    }
    withExtendedLifetime(kept) {}
  }
}
