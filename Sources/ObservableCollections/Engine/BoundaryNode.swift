import Diffing
package import ReactiveSignals
import SwappablePrimitives

/// The node of an operator over several domains: the root of a domain of its own.
package final class BoundaryNode<Kernel: OperatorKernel>: CollectionNode<Kernel.Output>,
  @unchecked Sendable
{
  // Sendable: `queue` is guarded by the domain's lock; `run` and `taken` are owned by the drainer,
  // which the creator is first.

  /// What a round has brought to one of the inputs.
  private final class Item: Sendable {
    let input: Int
    let update: CollectionUpdate<Kernel.Input>

    init(_ input: Int, _ update: CollectionUpdate<Kernel.Input>) {
      self.input = input
      self.update = update
    }
  }

  private let inputs: [CollectionNode<Kernel.Input>]
  private var queue = EventQueue()
  private var run: OperatorRun<Kernel>?
  private var taken: [CollectionUpdate<Kernel.Input>?] = []

  private init(_ inputs: [CollectionNode<Kernel.Input>]) {
    self.inputs = inputs
    super.init(
      domain: Domain(), height: 0, state: CollectionState(unloaded: .idle))
  }

  /// Makes a collection over inputs of several domains.
  ///
  /// - Returns: The collection; it keeps the sources and the observations of them.
  static func make(
    _ sources: [any DataSource<Kernel.Input>], _ kernel: Kernel
  ) -> LiveCollection<Kernel.Output> {
    let node = BoundaryNode(sources.map { $0.collection.node })
    // The creator is the first drainer, so that what the inputs send meanwhile waits in the queue.
    let isDrainer = node.domain.withLock { $0.claim(as: .current) }
    precondition(isDrainer, "a new domain is drained already")
    var states: [CollectionState<Kernel.Input>] = []
    var feeds: [Disposable] = []
    for (index, source) in sources.enumerated() {
      let input = source.collection.node
      let (state, feed) = input.domain.withLock { state in
        let feed = input.feeders.attach(
          { [weak node] in node?.receive(.read($0), from: index) }, &state)
        return (input.published(&state).state, feed)
      }
      states.append(state)
      feeds.append(Disposable(feed, keeping: source))
    }
    let run = OperatorRun(kernel, states)
    node.run = run
    node.begin(with: run.state)
    node.domain.drain(node)
    return LiveCollection(node, upstream: feeds)
  }

  package override var upstream: [any DomainNode] { inputs }

  /// Takes what a round has brought to an input; delivered at once, unless a transaction puts it off.
  private func receive(_ update: CollectionUpdate<Kernel.Input>, from input: Int) {
    let context = ThreadContext.current
    let drainer = context.deferred == nil ? ThreadID.current : nil
    let item = Item(input, update)
    let mustDrain = domain.withLock { state in
      queue.append(item)
      return state.enqueued(by: drainer)
    }
    if mustDrain { domain.drain(self) }
    if drainer == nil { context.deferred?.append(self) }
  }

  /// Takes what the queue begins with, as long as each input occurs once.
  package override func pop(_ state: inout Domain.State) -> UInt64 {
    taken = Array(repeating: nil, count: inputs.count)
    var count: UInt64 = 0
    while let first = queue.first {
      let next = unsafeDowncast(first, to: Item.self)
      guard taken[next.input] == nil else { break }
      taken[next.input] = next.update
      _ = queue.popFirst()
      count += 1
    }
    return count
  }

  package override var isComputed: Bool { false }

  package override func compute() {
    update = run?.advance(by: taken)
  }

  package override func endRound() {
    super.endRound()
    taken = []
  }
}
