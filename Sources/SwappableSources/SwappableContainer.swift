public import Diffing
public import ObservableCollections
package import ReactiveSignals

/// A data source whose own source can be exchanged while it is observed.
///
///     let container = SwappableContainer(local)
///     let observation = container.observe { event in … }
///     container.swap(to: remote)   // at most one change: what differs between the two
///
/// Observers are never told of a swap: what both sources hold is kept, updated or moved, the rest comes
/// or goes. Everything may be called from any thread, also inside observers.
public final class SwappableContainer<Element: Differentiable & Sendable>: DataSource {
  public let collection: LiveCollection<Element>
  private let executor: SwapExecutor<Element>

  /// Makes a container that shows a source.
  ///
  /// - Parameter source: What it shows; attaching starts an idle one.
  public convenience init(_ source: any DataSource<Element>) {
    self.init(source, pauseHook: nil)
  }

  /// Makes a container that shows nothing, and is idle, until it is swapped to a source.
  public convenience init() {
    self.init(nil, pauseHook: nil)
  }

  package init(_ source: (any DataSource<Element>)?, pauseHook: PauseHook?) {
    executor = SwapExecutor(pauseHook: pauseHook)
    // Who holds the collection alone is told of changes as well.
    collection = LiveCollection(executor.root, upstream: [executor])
    if let source { executor.start(with: source) }
  }

  /// The source that is shown; nil where there is none yet.
  public var source: (any DataSource<Element>)? { executor.currentSource }

  /// Shows another source.
  ///
  /// A source that has loaded is shown at once: the contents are committed when this returns. One that
  /// is loading is shown when it has loaded; until then the old one stays live. A later swap
  /// supersedes one that is not done.
  ///
  /// - Parameter source: The new source; attaching starts an idle one.
  /// - Returns: Tells the outcome, and cancels.
  /// - Complexity: That of one difference, O(n) where little is out of order.
  @discardableResult
  public func swap(to source: any DataSource<Element>) -> SwapHandle {
    executor.swap(to: source)
  }
}
