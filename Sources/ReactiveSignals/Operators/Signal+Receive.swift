extension Signal {
  /// Makes a signal that brings the values elsewhere: to the main actor, to a queue.
  ///
  /// Operators over the result run there too. It is a domain of its own, ends with this signal, and has
  /// a memory if this signal has: a value that was brought before is told to a new observer or operator
  /// at once, on its own thread. To be called elsewhere each time, observe on a scheduler.
  ///
  /// - Parameters:
  ///   - scheduler: Where the values are brought.
  ///   - policy: What becomes of values that wait; of merged ones the latest is brought.
  /// - Complexity: O(1) for each value.
  public func receive(
    on scheduler: Scheduler, policy: DeliveryPolicy = .coalesce
  ) -> Signal<Value> {
    let target = SignalNode<Value>(domain: Domain(), remembers: node.remembers) { [node] _ in
      node.start()
    }
    let feed = node.observe(on: scheduler, policy: policy, keeping: self) { [weak target] in
      target?.send($0)
    } onCompletion: { [weak target] in
      target?.finish()
    }
    return Signal(target, upstream: [feed])
  }
}
