extension Signal {
  /// Creates a signal that delivers the values on a scheduler, such as the main actor or a queue.
  ///
  /// Operators over the result run there too. The result has a domain of its own, ends with this
  /// signal, and has a memory if this signal has one. A value that was
  /// already delivered reaches a new observer or operator immediately, on its own thread. To receive
  /// every value on the scheduler, observe on that scheduler instead.
  ///
  /// - Parameters:
  ///   - scheduler: Where to deliver the values.
  ///   - policy: How to buffer pending values. The default keeps only the latest value.
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
