public import Diffing
public import ObservableCollections
public import ReactiveSignals

extension DataSource {
  /// Binds a view to this source.
  ///
  ///     binding = source.bind(to: tableView) { [weak self] rows in self?.rows = rows }
  ///
  /// When this method returns, the view shows the current contents, using `reloadData()`. The view
  /// then performs each change in batches on the main actor. Pending changes become one change.
  ///
  /// - Parameters:
  ///   - view: The view. The binding does not keep it alive, and calls nothing after its release.
  ///   - interrupt: A closure that is called before each batch. If it returns `true`, the view
  ///     shows the new contents immediately, without animation.
  ///   - setData: A closure that sets the data of the view. Nothing else may set that data, because
  ///     the next batch begins with it.
  ///   - completion: A closure that is called after the last batch of a change; see
  ///     `reload(using:)`.
  /// - Returns: A handle that keeps the binding and this source alive. Release it to end the
  ///   binding.
  // For sections, prefer the other methods unless the types say otherwise.
  @_disfavoredOverload
  @MainActor
  public func bind(
    to view: some BatchUpdatingListView,
    interrupt: @escaping @MainActor (Changeset) -> Bool = { _ in false },
    setData: @escaping @MainActor ([Element]) -> Void,
    completion: @escaping @MainActor (_ isFinished: Bool) -> Void = { _ in }
  ) -> Disposable {
    ListBinding(
      view, items: { Array($0) },
      stages: { shown, new, change in
        change.map { StagedChangeset($0, from: shown, to: new) }
          ?? StagedChangeset(from: shown, to: new)
      },
      perform: { $0.perform($1) }, interrupt: interrupt, setData: setData, completion: completion
    ).start(self)
  }

  /// Binds a view to sections that are made from this source.
  ///
  ///     binding = source.bind(to: tableView, sections: albums(of:)) { [weak self] sections in
  ///       self?.sections = sections
  ///     }
  ///
  /// When this method returns, the view shows the current contents, using `reloadData()`. The view
  /// then performs each change in batches on the main actor. Pending changes become one change.
  ///
  /// - Parameters:
  ///   - view: The view. The binding does not keep it alive, and calls nothing after its release.
  ///   - sections: A closure that returns the sections of the contents.
  ///   - interrupt: A closure that is called before each batch. If it returns `true`, the view
  ///     shows the new contents immediately, without animation.
  ///   - setData: A closure that sets the data of the view. Nothing else may set that data, because
  ///     the next batch begins with it.
  ///   - completion: A closure that is called after the last batch of a change; see
  ///     `reload(using:)`.
  /// - Returns: A handle that keeps the binding and this source alive. Release it to end the
  ///   binding.
  /// - Complexity: O(*n*) in all sections and items for each change.
  @MainActor
  public func bind<Section: DifferentiableSection>(
    to view: some BatchUpdatingSectionedListView,
    sections: @escaping @MainActor (Snapshot<Element>) -> [Section],
    interrupt: @escaping @MainActor (SectionedChangeset) -> Bool = { _ in false },
    setData: @escaping @MainActor ([Section]) -> Void,
    completion: @escaping @MainActor (_ isFinished: Bool) -> Void = { _ in }
  ) -> Disposable {
    ListBinding(
      view, items: sections, stages: { shown, new, _ in StagedChangeset(from: shown, to: new) },
      perform: { $0.perform($1) }, interrupt: interrupt, setData: setData, completion: completion
    ).start(self)
  }
}

extension DataSource where Element: DifferentiableSection {
  /// Binds a view to this source of sections.
  ///
  /// A change of an element updates its section in the source. The view receives the difference of
  /// the sections: a section is reloaded only if `isContentEqual(to:)` returns `false` for it.
  ///
  /// - Parameters:
  ///   - view: The view. The binding does not keep it alive, and calls nothing after its release.
  ///   - interrupt: A closure that is called before each batch. If it returns `true`, the view
  ///     shows the new sections immediately, without animation.
  ///   - setData: A closure that sets the data of the view. Nothing else may set that data, because
  ///     the next batch begins with it.
  ///   - completion: A closure that is called after the last batch of a change; see
  ///     `reload(using:)`.
  /// - Returns: A handle that keeps the binding and this source alive. Release it to end the
  ///   binding.
  /// - Complexity: O(*n*) in all sections and items for each change.
  @MainActor
  public func bind(
    to view: some BatchUpdatingSectionedListView,
    interrupt: @escaping @MainActor (SectionedChangeset) -> Bool = { _ in false },
    setData: @escaping @MainActor ([Element]) -> Void,
    completion: @escaping @MainActor (_ isFinished: Bool) -> Void = { _ in }
  ) -> Disposable {
    bind(
      to: view, sections: { Array($0) }, interrupt: interrupt, setData: setData,
      completion: completion)
  }
}

extension DataSource {
  /// Binds a view to the sections of a list.
  ///
  ///     let sections = customers.sections(by: \.country)
  ///     binding = sections.bind(to: tableView) { [weak self] sections in self?.sections = sections }
  ///
  /// When this method returns, the view shows the current contents, using `reloadData()`. The view
  /// then performs each change in batches on the main actor. Pending changes become one change.
  /// An element that enters another section is moved, unless the change inserts or deletes one of the
  /// two sections.
  ///
  /// The content of a section is its key. Its header is therefore not reloaded if only elements
  /// change. If your headers show the number of elements, update them in `setData`.
  ///
  /// - Parameters:
  ///   - view: The view. The binding does not keep it alive, and calls nothing after its release.
  ///   - interrupt: A closure that is called before each batch. If it returns `true`, the view
  ///     shows the new sections immediately, without animation.
  ///   - setData: A closure that sets the data of the view. Nothing else may set that data, because
  ///     the next batch begins with it.
  ///   - completion: A closure that is called after the last batch of a change; see
  ///     `reload(using:)`.
  /// - Returns: A handle that keeps the binding and this source alive. Release it to end the
  ///   binding.
  /// - Complexity: O(*s* + *k* log *k*) for a change of *k* elements in one of *s* sections, and
  ///   O(*n*) in all elements for each batch but the last. Elements are compared only if pending
  ///   changes became one.
  @MainActor
  public func bind<Key, Item>(
    to view: some BatchUpdatingSectionedListView,
    interrupt: @escaping @MainActor (SectionedChangeset) -> Bool = { _ in false },
    setData: @escaping @MainActor ([ListSection<Key, Item>]) -> Void,
    completion: @escaping @MainActor (_ isFinished: Bool) -> Void = { _ in }
  ) -> Disposable where Element == ListSection<Key, Item> {
    ListBinding(
      view, items: { $0.map { ShownSection($0) } },
      stages: { shown, new, change in
        let old = Snapshot(shown.map(\.section))
        let sections = Snapshot(new.map(\.section))
        let change = change ?? old.changeset(to: sections)
        return StagedChangeset(
          SectionedChangeset(change, from: old, to: sections), from: shown, to: new)
      },
      perform: { $0.perform($1) }, interrupt: interrupt, setData: { setData($0.map(\.section)) },
      completion: completion
    ).start(self)
  }
}

/// A section of a list as a view shows it. Its content is its key.
private struct ShownSection<Key: Hashable & Sendable, Item: Differentiable & Sendable>:
  DifferentiableSection
{
  let section: ListSection<Key, Item>

  init(_ section: ListSection<Key, Item>) {
    self.section = section
  }

  init(source: ShownSection, elements: some Collection<Item>) {
    section = ListSection(key: source.section.key, elements: elements)
  }

  var elements: Snapshot<Item> { section.elements }
  var differenceIdentifier: Key { section.key }

  func isContentEqual(to source: ShownSection) -> Bool { true }
}

/// A binding of a view to a data source.
///
/// Only the binding calls `setData`. It therefore knows the data of the view, and begins each
/// difference there.
@MainActor
final class ListBinding<
  View: BatchUpdatingListView, Element: Differentiable & Sendable, Item,
  Change: Hashable & Sendable
> {
  /// Returns the stages from the shown items to new ones. The change of the contents is passed if
  /// it is known.
  typealias Staging =
    @MainActor (_ shown: [Item], _ new: [Item], _ change: Changeset?) ->
    StagedChangeset<Item, Change>

  /// Returns the items that the view shows for some contents.
  let items: @MainActor (Snapshot<Element>) -> [Item]
  let stages: Staging
  let perform: @MainActor (View, Change) -> Void
  let interrupt: @MainActor (Change) -> Bool
  let setData: @MainActor ([Item]) -> Void
  let completion: ReloadCompletion.Handler

  private weak var view: View?
  /// The observation, or `nil` after its release.
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
    (self.view, self.items, self.stages) = (view, items, stages)
    (self.perform, self.interrupt) = (perform, interrupt)
    (self.setData, self.completion) = (setData, completion)
  }

  /// Shows the current contents of a source, and follows its changes.
  func start(_ source: some DataSource<Element>) -> Disposable {
    source.start()
    if let view {
      // Show the contents now, so the view is never seen empty.
      ReloadTurn.take(on: view) { [self] _, hasWaited in
        if hasWaited && isOver { return }
        let state = source.collection.current.state
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
    // The initial event repeats contents that are already shown, which may be newer.
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

  /// Returns the change of an event if it begins with the shown contents, otherwise `nil`.
  private func knownChange(_ event: CollectionEvent<Element>) -> Changeset? {
    guard case .change(let change) = event, contents.hasSameContents(as: change.before) else {
      return nil
    }
    return change.changeset
  }
}
