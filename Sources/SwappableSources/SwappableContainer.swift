public import Diffing
public import ObservableCollections
package import ReactiveSignals

/// A data source whose own source you can swap while it is observed.
///
///     let container = SwappableContainer(local)
///     let observation = container.observe { event in … }
///     container.swap(to: remote)   // at most one change: the difference between the two sources
///
/// Observers do not learn of a swap. They receive at most one change: elements of both sources are
/// kept, updated or moved, and all other elements are deleted or inserted. You can call all methods
/// on any thread, and inside observers.
public final class SwappableContainer<Element: Differentiable & Sendable>: DataSource {
  public let collection: LiveCollection<Element>
  private let executor: SwapExecutor<Element>

  /// Creates a container that shows a source.
  ///
  /// - Parameter source: The source to show. If the source is idle, the container starts it.
  public convenience init(_ source: any DataSource<Element>) {
    self.init(source, pauseHook: nil)
  }

  /// Creates a container that shows nothing, and is idle, until the first swap.
  public convenience init() {
    self.init(nil, pauseHook: nil)
  }

  package init(_ source: (any DataSource<Element>)?, pauseHook: PauseHook?) {
    executor = SwapExecutor(pauseHook: pauseHook)
    // The collection keeps the executor alive, so the collection follows the source on its own.
    collection = LiveCollection(executor.root, upstream: [executor])
    if let source { executor.start(with: source) }
  }

  /// The source that is shown, or `nil` if there is none yet.
  public var source: (any DataSource<Element>)? { executor.currentSource }

  /// Swaps to another source.
  ///
  /// If the new source has loaded, its contents are committed when this method returns. If it is still
  /// loading, it is shown when it has loaded, and the old source stays live until then. A later swap
  /// supersedes a swap that is not done.
  ///
  /// If the new source is made from the shown one, for example by an operator, it takes effect at once
  /// even if it is still loading. The container then has the status of the new source.
  ///
  /// - Parameter source: The new source. If the source is idle, the container starts it.
  /// - Returns: A handle that provides the outcome of the swap and can cancel it.
  /// - Complexity: The cost of one difference, which is O(*n*) if few elements are out of order.
  @discardableResult
  public func swap(to source: any DataSource<Element>) -> SwapHandle {
    executor.swap(to: source)
  }
}
