extension Signal {
  /// Makes a signal of what an asynchronous sequence brings, that ends with it.
  ///
  /// The sequence is iterated once, by a task of its own, from the first observer on and until nobody
  /// holds the signal or what was made of it. The next element is asked for when immediate observers
  /// have had the one before; who is called elsewhere has a policy of its own. The signal has no memory.
  ///
  /// A sequence that may fail is to be made into one of results first: a signal has no failures.
  ///
  /// - Parameter sequence: What brings the values.
  public convenience init<Source: AsyncSequence & Sendable>(_ sequence: Source)
  where Source.Element == Value, Source.Failure == Never {
    self.init(
      AsyncSequenceNode<Value> { node in
        Task { [weak node] in
          for await value in sequence {
            guard let node else { return }
            node.send(value)
          }
          node?.finish()
        }
      })
  }
}

/// The root of a signal that an asynchronous sequence feeds.
private final class AsyncSequenceNode<Value: Sendable>: SignalNode<Value>, @unchecked Sendable {
  // Sendable: both are touched by `begin`, which is called once, and by the deinitialiser alone.

  /// Nil once it was called: what has ended does not hold the sequence.
  private var iterate: (@Sendable (AsyncSequenceNode<Value>) -> Task<Void, Never>)?
  private var task: Task<Void, Never>?

  init(_ iterate: @escaping @Sendable (AsyncSequenceNode<Value>) -> Task<Void, Never>) {
    self.iterate = iterate
    super.init(domain: Domain(), remembers: false)
  }

  deinit {
    task?.cancel()
  }

  override func begin() {
    task = iterate?(self)
    iterate = nil
  }
}
