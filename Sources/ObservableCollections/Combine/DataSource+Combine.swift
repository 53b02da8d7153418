#if canImport(Combine)
  public import ReactiveSignals

  extension DataSource {
    /// The events for Combine.
    ///
    /// - Parameter policy: What becomes of changes that the subscriber has not demanded yet; by default
    ///   they become one.
    public func publisher(policy: DeliveryPolicy = .coalesce) -> CollectionPublisher<Element> {
      CollectionPublisher(self, policy)
    }

    /// The contents for Combine: the present ones first, then the newest after each change.
    ///
    /// No difference is computed, and no more than one snapshot waits to be demanded.
    public func snapshotPublisher() -> SnapshotPublisher<Element> {
      SnapshotPublisher(self)
    }
  }
#endif
