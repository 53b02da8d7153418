import Diffing
import ObservableCollections
import ReactiveSignals

/// A view that follows a data source.
///
/// It alone calls `setData`, so that it knows what that was given last, and takes each difference from it.
@MainActor
final class ListBinding<
  View: BatchUpdatingListView, Element: Differentiable & Sendable, Item,
  Change: Hashable & Sendable
> {
  /// Makes the stages from what is shown to other items; of the change of the contents, where it is known.
  typealias Staging =
    @MainActor (_ shown: [Item], _ new: [Item], _ change: Changeset?) ->
    StagedChangeset<Item, Change>

  /// What the view shows of some contents.
  let items: @MainActor (Snapshot<Element>) -> [Item]
  let stages: Staging
  let perform: @MainActor (View, Change) -> Void
  let interrupt: @MainActor (Change) -> Bool
  let setData: @MainActor ([Item]) -> Void
  let completion: ReloadCompletion.Handler

  private weak var view: View?
  /// Ends the binding; nil once it was let go of.
  private weak var observation: Disposable?
  private var shown: [Item] = []
  private var contents = Snapshot<Element>()
  private var revision = 0

  init(
    _ view: View, items: @escaping @MainActor (Snapshot<Element>) -> [Item],
    stages: @escaping Staging,
    perform: @escaping @MainActor (View, Change) -> Void,
    interrupt: @escaping @MainActor (Change) -> Bool,
    setData: @escaping @MainActor ([Item]) -> Void,
    completion: @escaping ReloadCompletion.Handler
  ) {
    self.view = view
    self.items = items
    self.stages = stages
    self.perform = perform
    self.interrupt = interrupt
    self.setData = setData
    self.completion = completion
  }

  /// Shows what a source holds, and whatever it holds from then on.
  func start(_ source: some DataSource<Element>) -> Disposable {
    source.start()
    if let view {
      // At once, so that the view is not seen empty.
      ReloadTurn.take(on: view) { [self] _, hasWaited in
        if hasWaited && isOver { return }
        let state = source.collection.node.current
        (contents, revision) = (state.snapshot, state.revision)
        shown = items(contents)
        setData(shown)
        view.reloadData()
      }
    }
    let observation = source.observeOnMainActor { self.follow($0) }
    self.observation = observation
    return observation
  }

  private var isOver: Bool { observation?.isDisposed ?? true }

  private func follow(_ event: CollectionEvent<Element>) {
    guard let view else { return }
    // What was shown when the binding began is told again, and may be newer than what is told first.
    if event.revision <= revision { return }
    StagedReload(
      stages: { [self] in
        let new = items(event.snapshot)
        let stages = stages(shown, new, knownChange(event))
        (contents, revision) = (event.snapshot, event.revision)
        return stages
      },
      perform: { [perform] in perform(view, $0) },
      interrupt: { [interrupt] change, _ in interrupt(change) },
      isOver: { [self] in isOver },
      setData: { [self] in
        shown = $0
        setData($0)
      },
      completion: { [self] isFinished in if !isOver { completion(isFinished) } }
    ).start(on: view)
  }

  /// The change that an event tells, if it begins with what is shown.
  private func knownChange(_ event: CollectionEvent<Element>) -> Changeset? {
    guard case .change(let change) = event, contents.hasSameContents(as: change.before) else {
      return nil
    }
    return change.changeset
  }
}
