public import Diffing
public import ReactiveSignals

/// The contents of a collection as an asynchronous sequence.
///
/// The present ones come first, then the newest after each change.
///
/// Each iteration is an observation of its own, that begins with `makeAsyncIterator()` and ends when
/// the task is cancelled or the iterator let go. While the loop's body is busy, newer contents replace
/// those that wait.
public struct CollectionSnapshots<Element: Differentiable & Sendable>: AsyncSequence, Sendable {
  private let source: any DataSource<Element>

  init(_ source: any DataSource<Element>) {
    self.source = source
  }

  public func makeAsyncIterator() -> Iterator {
    Iterator(SnapshotFeed(source))
  }

  /// Waits for one snapshot after the other.
  public struct Iterator: AsyncIteratorProtocol {
    private let feed: SnapshotFeed<Element>

    fileprivate init(_ feed: SnapshotFeed<Element>) {
      self.feed = feed
    }

    /// Waits for newer contents; nil once the task is cancelled.
    public mutating func next() async -> Snapshot<Element>? {
      await feed.next()
    }

    /// Waits for newer contents; nil once the task is cancelled.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async -> Snapshot<Element>? {
      await feed.next(isolation: actor)
    }
  }
}

extension DataSource {
  /// The contents as an asynchronous sequence.
  ///
  ///     for await contents in container.snapshots() { … }
  ///
  /// For who shows or stores the whole list and needs no differences: none is computed, and no more
  /// than one snapshot waits.
  public func snapshots() -> CollectionSnapshots<Element> {
    CollectionSnapshots(self)
  }

  /// Subscribes to the contents alone.
  ///
  /// The observer gets the present contents first, and then the newest after each change. Where it is
  /// called elsewhere, newer contents replace those that wait: no more than one snapshot waits, and no
  /// difference is ever computed. Two in succession may be equal, if what changed between them was
  /// undone meanwhile.
  ///
  /// - Parameters:
  ///   - scheduler: Where the observer is called.
  ///   - handler: The observer; never called concurrently with itself.
  /// - Returns: What keeps the observation and everything upstream alive; letting it go ends it.
  /// - Complexity: O(1) for each event.
  public func observeSnapshots(
    on scheduler: Scheduler = .immediate,
    _ handler: @escaping @Sendable (Snapshot<Element>) -> Void
  ) -> Disposable {
    guard let schedule = scheduler.schedule else {
      return observe { event in handler(event.snapshot) }
    }
    start()
    let mailbox = Mailbox<LatestSnapshot<Element>>(on: schedule, policy: .coalesce) { latest, _ in
      handler(latest.snapshot)
    }
    let observation = collection.node.observe(mailbox: mailbox) {
      mailbox.post(LatestSnapshot(snapshot: $0.end.snapshot))
    }
    return Disposable(observation, keeping: self)
  }
}

/// A snapshot that waits until there is a newer one.
private struct LatestSnapshot<Element: Differentiable & Sendable>: Mergeable {
  typealias Released = Self

  let snapshot: Snapshot<Element>
}

/// One iteration over the contents of a collection.
private final class SnapshotFeed<Element: Differentiable & Sendable>: Sendable {
  private let inbox: Inbox<LatestSnapshot<Element>>
  private let observation: Disposable

  init(_ source: any DataSource<Element>) {
    let inbox = Inbox<LatestSnapshot<Element>>(.coalesce)
    self.inbox = inbox
    source.start()
    let observation = source.collection.node.observe {
      inbox.post(LatestSnapshot(snapshot: $0.end.snapshot))
    }
    self.observation = Disposable(observation, keeping: source)
  }

  func next(isolation actor: isolated (any Actor)? = #isolation) async -> Snapshot<Element>? {
    if let next = await inbox.next() { return next.snapshot }
    observation.dispose()
    return nil
  }
}
