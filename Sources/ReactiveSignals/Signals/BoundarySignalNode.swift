import SwappablePrimitives

/// The node of an operator over several domains, or of one that sends at times of its own: the root of
/// a domain of its own.
package final class BoundarySignalNode<Item: Sendable, Value: Sendable>: SignalNode<Value>,
  @unchecked Sendable
{
  // Sendable: `taken` and `step` are owned by the drainer.

  /// Takes an item and makes a value or none of it; `ends` is set where the signal ends with it.
  package typealias Step = (
    _ item: Item, _ node: BoundarySignalNode<Item, Value>, _ ends: inout Bool
  ) -> Value?

  /// An item on its way.
  private final class Box: Sendable {
    let item: Item

    init(_ item: Item) {
      self.item = item
    }
  }

  /// Posted once, when the node is observed for the first time.
  private let starting: Item?
  private var taken: Box?
  /// Nil once it has ended.
  private var step: Step?

  /// - Parameters:
  ///   - sources: What it is derived from.
  ///   - remembers: Whether new observers are told the newest value first.
  ///   - starting: An item to be posted when it gets its first observer.
  ///   - step: Called with each item that is posted, one at a time.
  package init(
    _ sources: [any AnySignalNode], remembers: Bool, starting: Item? = nil,
    _ step: @escaping Step
  ) {
    self.starting = starting
    self.step = step
    super.init(domain: Domain(), remembers: remembers, sources: sources)
  }

  package override func begin() {
    if let starting { post(starting) }
  }

  /// Takes an item, from any thread; delivered at once, unless another item is.
  package func post(_ item: Item) {
    let box = Box(item)
    let thread = ThreadID.current
    if domain.withLock({ enqueue(box, by: thread, &$0) }) { domain.drain(self) }
  }

  package override func take(_ next: Event) {
    taken = unsafeDowncast(next, to: Box.self)
  }

  package override var isComputed: Bool { false }

  package override func compute() {
    guard let taken, let step else { return }
    update = step(taken.item, self, &ends)
    guard ends else { return }
    self.step = nil
    letGoOfSources()
  }

  package override func endRound() {
    super.endRound()
    taken = nil
  }
}
