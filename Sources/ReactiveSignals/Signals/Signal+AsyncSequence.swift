extension SignalSource {
  /// Returns the values as an asynchronous sequence, which ends with the signal.
  ///
  ///     for await name in names.values() { … }
  ///
  /// Each iteration is an observation of its own. It ends with the signal, if the task is canceled, or if
  /// the iterator is released. If the signal has a memory, the latest value comes first.
  ///
  /// - Parameter policy: How to buffer values while the body of the loop is busy. The default keeps only
  ///   the latest value.
  public func values(
    policy: DeliveryPolicy = .coalesce
  ) -> LiveValues<Value> {
    LiveValues(policy) { [signal] (inbox: Inbox<WaitingSignal<Value>>) in
      defer { signal.node.start() }
      return signal.node.observeEvents(keeping: signal) { inbox.post(WaitingSignal($0)) }
    } read: {
      { (item: WaitingSignal<Value>) in LiveValues.Step(item.value?.value, isEnd: item.isEnd) }
    }
  }
}

extension Signal {
  /// Creates a signal of the elements of an asynchronous sequence. It ends with the sequence.
  ///
  /// A task iterates the sequence once. It begins with the first observer, and lasts until the signal and
  /// everything derived from it is released. It requests the next element after the immediate observers
  /// have received the current one. A scheduled observer has a policy of its own.
  /// The signal has no memory.
  ///
  /// A signal has no failures. Turn a sequence that can fail into a sequence of results first.
  ///
  /// - Parameter sequence: The sequence of values.
  public convenience init<Source: AsyncSequence & Sendable>(_ sequence: Source)
  where Source.Element == Value, Source.Failure == Never {
    self.init(
      Node(domain: Domain(), state: nil, remembers: false) { node in
        let task = Task { [weak node] in
          for await value in sequence {
            guard let node else { return }
            node.send(value: value)
          }
          node?.finish()
        }
        node.observation = Disposable { task.cancel() }
      })
  }
}
