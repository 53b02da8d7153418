public import Diffing
public import ObservableCollections
public import ReactiveSignals

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
  let executor: SwapExecutor<Element>

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
  /// If a guard refuses the change, the old source stays live, and the swap is held as the ``pendingChange``. After each
  /// change of either source, the guard is asked again.
  ///
  /// - Parameters:
  ///   - source: The new source. If the source is idle, the container starts it.
  ///   - changeGuard: The guard that may refuse the change, or `nil` to show every change.
  /// - Returns: A handle that provides the outcome of the swap and can cancel it.
  /// - Complexity: The cost of one difference, which is O(*n*) if few elements are out of order.
  @discardableResult
  public func swap(
    to source: any DataSource<Element>, guardedBy changeGuard: ChangeGuard<Element>? = nil
  ) -> SwapHandle {
    executor.swap(to: source, guardedBy: changeGuard)
  }

  /// Loads a source without showing it.
  ///
  ///     let preview = try await container.preview(of: imported)
  ///     print("\(preview.change.changeset.deletions.count) rows would go")
  ///     preview.accept()
  ///
  /// A preview is a swap whose guard refuses every change. It follows both sources: ``pendingChange`` always has its latest
  /// change, and accepting it shows the difference of that moment. A later swap or preview supersedes it.
  ///
  /// - Parameter source: The source. If it is idle, the container starts it.
  /// - Returns: The change that a swap to the source would make now. If the source is shown already, the change is empty.
  /// - Throws: A `SourceError` if the source fails before it has loaded, or is made from this container. A
  ///   `CancellationError` if the task is canceled, or if a later swap supersedes the preview.
  public func preview(
    of source: any DataSource<Element>
  ) async throws -> ChangeGuard<Element>.PendingChange {
    let handle = executor.swap(
      to: source, guardedBy: ChangeGuard { _ in "the change is a preview; accept or reject it" })
    await withTaskCancellationHandler {
      await handle.waitUntilHeld()
    } onCancel: {
      handle.cancel()
    }
    if let pending = executor.pendingChange(of: handle) { return pending }
    switch await handle.outcome {
    case .failed(let error): throw error
    case .cycle:
      throw SourceError(
        code: "cycle", message: "the source is made from the container that would show it")
    case .swapped, .unchanged:
      // The source is shown already, or an observer has accepted the change.
      let (contents, revision) = (snapshot, revision)
      return ChangeGuard.PendingChange(
        change: CollectionChange(
          before: contents, after: contents, revisionBefore: revision, revision: revision,
          changeset: .empty),
        reason: "the source is shown already", onAccept: {}, onReject: {})
    case .superseded, .cancelled: throw CancellationError()
    }
  }

  /// The swap that waits until its source has loaded, or until a refused change is accepted, or `nil` if there is none.
  ///
  ///     let dimming = container.swapping.observe { list.isDimmed = $0 != nil }
  ///
  /// A swap to a loaded source is done at once, so it does not appear here. Observing the property does not keep the
  /// container alive.
  public var swapping: ReadOnlyProperty<SwapHandle?> { executor.swappingProperty }

  /// The change that a guard has refused, or `nil` if there is none.
  ///
  /// The change is the difference between the latest contents of both sources. It can be accepted or rejected. Observing the
  /// property does not keep the container alive.
  public var pendingChange: ReadOnlyProperty<ChangeGuard<Element>.PendingChange?> {
    executor.pendingChangeProperty
  }
}
