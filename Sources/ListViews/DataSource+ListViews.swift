public import Diffing
public import ObservableCollections
public import ReactiveSignals

extension DataSource {
  /// Makes a view show this source.
  ///
  ///     binding = source.bind(to: tableView) { [weak self] rows in self?.rows = rows }
  ///
  /// When this returns the view shows the present contents, by `reloadData()`. Each change is told in
  /// batches on the main actor; what has changed meanwhile is one change.
  ///
  /// - Parameters:
  ///   - view: What shows the contents; it is not kept alive, and nothing is called once it is gone.
  ///   - interrupt: Asked before each batch: true shows the contents at once, without animation.
  ///   - setData: Sets what the view shows. Whatever was given here last is what the next batch begins
  ///     with, so let nothing else set it.
  ///   - completion: Called when the batches of a change are done, see `reload(using:)`.
  /// - Returns: What keeps the binding and this source alive; letting it go ends it.
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

  /// Makes a view show this source in sections.
  ///
  ///     binding = source.bind(to: tableView, sections: albums(of:)) { [weak self] sections in
  ///       self?.sections = sections
  ///     }
  ///
  /// When this returns the view shows the present contents, by `reloadData()`. Each change is told in
  /// batches on the main actor; what has changed meanwhile is one change.
  ///
  /// - Parameters:
  ///   - view: What shows the contents; it is not kept alive, and nothing is called once it is gone.
  ///   - sections: Makes the sections of the contents.
  ///   - interrupt: Asked before each batch: true shows the contents at once, without animation.
  ///   - setData: Sets what the view shows. Whatever was given here last is what the next batch begins
  ///     with, so let nothing else set it.
  ///   - completion: Called when the batches of a change are done, see `reload(using:)`.
  /// - Returns: What keeps the binding and this source alive; letting it go ends it.
  /// - Complexity: O(n) for each change, in all sections and items.
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
  /// Makes a view show this source of sections.
  ///
  /// A source notices what `isContentEqual(to:)` of its elements tells and nothing else: a section whose
  /// content leaves its elements out, as that of `ArraySection` does, is not seen to change when they do.
  /// Sections of one's own compare both; or make the sections of plainer elements, by
  /// `bind(to:sections:)`.
  ///
  /// - Parameters:
  ///   - view: What shows the sections; it is not kept alive, and nothing is called once it is gone.
  ///   - interrupt: Asked before each batch: true shows the sections at once, without animation.
  ///   - setData: Sets what the view shows. Whatever was given here last is what the next batch begins
  ///     with, so let nothing else set it.
  ///   - completion: Called when the batches of a change are done, see `reload(using:)`.
  /// - Returns: What keeps the binding and this source alive; letting it go ends it.
  /// - Complexity: O(n) for each change, in all sections and items.
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
