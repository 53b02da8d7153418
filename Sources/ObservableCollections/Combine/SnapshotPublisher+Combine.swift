#if canImport(Combine)
  public import Combine
  public import Diffing
  import ReactiveSignals

  /// The contents of a collection, for Combine: the present ones first, then the newest.
  ///
  /// Each subscription is an observation of its own, on the threads that edit, and lasts until the
  /// subscriber cancels. Newer contents replace those that were not demanded yet.
  public struct SnapshotPublisher<Element: Differentiable & Sendable>: Publisher, Sendable {
    public typealias Output = Snapshot<Element>
    public typealias Failure = Never

    private let source: any DataSource<Element>

    init(_ source: any DataSource<Element>) {
      self.source = source
    }

    public func receive<Target: Subscriber<Snapshot<Element>, Never>>(subscriber: Target) {
      QueueSubscription<WaitingValue<Snapshot<Element>>>.open(
        subscriber, .coalesce, { $0.value }
      ) { subscription in
        source.observeSnapshots { subscription.post(WaitingValue(value: $0)) }
      }
    }
  }
#endif
