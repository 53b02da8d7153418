extension Signal {
  /// Creates a signal of the elements of an asynchronous sequence. It ends with the sequence.
  ///
  /// A task iterates the sequence once. It begins with the first observer, and lasts until the signal and
  /// everything derived from it is released. It requests the next element after the immediate observers
  /// have received the present one. An observer that is called elsewhere has a policy of its own. The
  /// signal has no memory.
  ///
  /// A signal has no failures. Turn a sequence that can fail into a sequence of results first.
  ///
  /// - Parameter sequence: The sequence of values.
  public convenience init<Source: AsyncSequence & Sendable>(_ sequence: Source)
  where Source.Element == Value, Source.Failure == Never {
    self.init(
      SignalNode<Value>(domain: Domain(), remembers: false) { node in
        let node = unsafeDowncast(node, to: SignalNode<Value>.self)
        let task = Task { [weak node] in
          for await value in sequence {
            guard let node else { return }
            node.send(value)
          }
          node?.finish()
        }
        node.place.feed = Disposable { task.cancel() }
      })
  }
}
