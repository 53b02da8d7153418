public import ReactiveSignals

extension DataSource {
  /// Returns the events as an asynchronous sequence: `initial` first, and then the changes.
  ///
  ///     for await event in container.events() { … }
  ///
  /// Each iteration is an observation of its own. It begins with `makeAsyncIterator()`, and ends if the task
  /// is canceled or the iterator is released.
  ///
  /// - Parameter policy: How to buffer changes while the body of the loop is busy. By default, all pending
  ///   changes become one.
  public func events(
    policy: DeliveryPolicy = .coalesce
  ) -> LiveValues<CollectionEvent<Element>> {
    LiveValues(policy) { [self] (inbox: Inbox<PendingEvent<Element>>) in
      start()
      return Disposable(collection.observePending { inbox.post($0) }, keeping: self)
    } read: {
      let receiver = EventReceiver<Element>()
      return { (item: PendingEvent<Element>) in LiveValues.Step(receiver.receive(item)) }
    }
  }

  /// Returns the contents as an asynchronous sequence.
  ///
  /// The current contents come first, and then the latest contents after each change.
  ///
  ///     for await contents in container.snapshots() { … }
  ///
  /// Use this to show or store the whole list. No difference is computed, and at most one snapshot is
  /// pending while the body of the loop is busy.
  public func snapshots() -> LiveValues<Snapshot<Element>> {
    latestValues { [self] post in observeSnapshots { post($0) } }
  }

  /// Returns the statuses as an asynchronous sequence.
  ///
  /// The current status comes first, and then the latest status after each step.
  ///
  ///     for await status in source.statuses() { … }
  ///
  /// At most one status is pending while the body of the loop is busy.
  public func statuses() -> LiveValues<SourceStatus> {
    latestValues { [self] post in observeStatus { post($0) } }
  }

  private func latestValues<Value>(
    _ observe: @escaping @Sendable (@escaping @Sendable (Value) -> Void) -> Disposable
  ) -> LiveValues<Value> {
    LiveValues(.coalesce) { (inbox: Inbox<WaitingValue<Value>>) in
      observe { inbox.post(WaitingValue(value: $0)) }
    } read: {
      { (item: WaitingValue<Value>) in LiveValues.Step(item.value) }
    }
  }
}
