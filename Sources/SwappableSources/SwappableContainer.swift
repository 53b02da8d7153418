public import Diffing
public import ObservableCollections
public import ReactiveSignals
import SwappablePrimitives

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

  /// The change that a guard has refused, or `nil` if there is none.
  ///
  /// The change is the difference between the latest contents of both sources. It can be accepted or rejected. Observing the
  /// property does not keep the container alive.
  public var pendingChange: ReadOnlyProperty<ChangeGuard<Element>.PendingChange?> {
    executor.pendingChangeProperty
  }
}

/// A handle to a swap. It provides the outcome of the swap and can cancel it.
///
/// A handle does not keep the container or the new source alive.
public final class SwapHandle: Sendable {
  /// The result of a swap.
  public enum Outcome: Sendable, Hashable {
    /// The new source is shown, and observers have received the difference.
    case swapped
    /// The new source is shown, and its contents equal the contents that were shown before.
    ///
    /// This is also the outcome if the new source was shown already.
    case unchanged
    /// A later swap replaced this one before it was done. The new source was never visible.
    case superseded
    /// The swap was canceled, or the container was released, before the swap was done.
    case cancelled
    /// The new source failed, or was missing, before it loaded. The old source stays.
    case failed(SourceError)
    /// The new source is made from the container itself. Nothing changes.
    case cycle
  }

  private let state: Locked<State>
  private let onCancel: @Sendable () -> Void

  private struct State: Sendable {
    var outcome: Outcome?
    var waiting: [CheckedContinuation<Outcome, Never>] = []
    /// A Boolean value that indicates whether a guard has refused the change.
    var isHeld = false
    var waitingForHold: [CheckedContinuation<Void, Never>] = []
  }

  init(onCancel: @escaping @Sendable () -> Void = {}) {
    state = Locked(State())
    self.onCancel = onCancel
  }

  /// The outcome of the swap. Reading it waits until the outcome is known.
  public var outcome: Outcome {
    get async {
      await withCheckedContinuation { continuation in
        let known = state.withLock { state -> Outcome? in
          if state.outcome == nil { state.waiting.append(continuation) }
          return state.outcome
        }
        if let known { continuation.resume(returning: known) }
      }
    }
  }

  /// The outcome of the swap, or `nil` if it is not known yet.
  public var outcomeIfKnown: Outcome? {
    state.withLock { $0.outcome }
  }

  /// Cancels the swap, unless it is done. The old source stays.
  ///
  /// Swaps to a source whose swap is already open share one handle, so this method cancels all of them.
  public func cancel() {
    onCancel()
  }

  /// Waits until a guard has refused the change, or the outcome is known.
  func waitUntilHeld() async {
    await withCheckedContinuation { continuation in
      let isOver = state.withLock { state in
        if state.isHeld || state.outcome != nil { return true }
        state.waitingForHold.append(continuation)
        return false
      }
      if isOver { continuation.resume() }
    }
  }

  func hold() {
    let waiting = state.withLock { state in
      state.isHeld = true
      defer { state.waitingForHold = [] }
      return state.waitingForHold
    }
    for continuation in waiting { continuation.resume() }
  }

  func resolve(_ outcome: Outcome) {
    let ended = state.withLock { state -> State? in
      guard state.outcome == nil else { return nil }
      defer { state = State(outcome: outcome, isHeld: state.isHeld) }
      return state
    }
    for continuation in ended?.waiting ?? [] { continuation.resume(returning: outcome) }
    for continuation in ended?.waitingForHold ?? [] { continuation.resume() }
  }
}

/// A data source that holds its elements in memory.
///
///     let source = ArrayDataSource(["Ada", "Grace"])
///     source.append("Edsger")
///     source.replace(with: ["Grace", "Ada"])   // one move
///
/// A change of this source consists of the edits that you make. `replace(with:)` computes the
/// difference from the old elements.
public final class ArrayDataSource<Element: Differentiable & Sendable>: EditableDataSource {
  public let property: CollectionProperty<Element>

  /// Creates a data source.
  ///
  /// - Parameter elements: The first elements.
  public init(_ elements: some Sequence<Element>) {
    property = CollectionProperty(elements)
    collection.describe(as: ArrayDataSource<Element>.self)
  }

  /// Creates an empty data source.
  public init() {
    property = CollectionProperty()
    collection.describe(as: ArrayDataSource<Element>.self)
  }
}
