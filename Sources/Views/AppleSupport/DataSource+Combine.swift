#if canImport(Combine)
  public import Combine
  import Diffing
  public import ObservableCollections
  public import ReactiveSignals

  extension DataSource {
    /// Returns the events for Combine: `initial` first, and then the changes.
    ///
    /// Each subscription is an observation of its own, on the threads that edit. It lasts until the
    /// subscriber cancels.
    ///
    /// - Parameter policy: How to buffer changes that the subscriber has not demanded yet. By default, all
    ///   pending changes become one.
    public func publisher(
      policy: DeliveryPolicy = .coalesce
    ) -> some Publisher<CollectionEvent<Element>, Never> & Sendable {
      ObservationPublisher<PendingEvent<Element>, CollectionEvent<Element>>(policy) {
        [self] subscription in
        start()
        return Disposable(collection.observePending { subscription.post($0) }, keeping: self)
      } read: {
        let resolver = PendingEventResolver<Element>()
        return { resolver.resolve($0) }
      }
    }

    /// Returns the contents for Combine: the current contents, and then the latest after each change.
    ///
    /// No difference is computed, and at most one snapshot is pending until the subscriber demands it.
    public func snapshotPublisher() -> some Publisher<Snapshot<Element>, Never> & Sendable {
      ObservationPublisher<LatestValue<Snapshot<Element>>, Snapshot<Element>>(.coalesce) {
        [self] subscription in
        observeSnapshots { subscription.post(LatestValue(value: $0)) }
      } read: {
        { $0.value }
      }
    }
  }
#endif
