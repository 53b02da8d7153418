public import Diffing
import SwappablePrimitives

extension BatchUpdatingListView {
  /// Shows new data with a batch for each stage.
  ///
  ///     let stages = StagedChangeset(from: rows, to: newRows)
  ///     view.reload(using: stages, interrupt: { $0.changeCount > 100 }) { rows in
  ///       self.rows = rows
  ///     }
  ///
  /// If you call this method during another reload of the same view, it begins after that reload.
  /// It then shows the new data immediately, because its offsets may no longer fit the data.
  ///
  /// - Parameters:
  ///   - stages: The change from the shown data. If there are no stages, nothing happens.
  ///   - interrupt: A closure that is called before each stage. If it returns `true`, the view
  ///     shows the data of the last stage using `reloadData()`, and skips all remaining stages. By
  ///     default, no stage is skipped.
  ///   - setData: A closure that sets the data of the view. It is called at the beginning of each
  ///     batch.
  ///   - completion: A closure that is called once: after the last batch, or immediately if there
  ///     is no batch or if `interrupt` returns `true`. It receives `false` if a batch was cut short
  ///     or the view was released.
  public func reload<Item>(
    using stages: StagedChangeset<Item, Changeset>,
    interrupt: @escaping @MainActor (Changeset) -> Bool = { _ in false },
    setData: @escaping @MainActor ([Item]) -> Void,
    completion: @escaping @MainActor (_ isFinished: Bool) -> Void = { _ in }
  ) {
    StagedReload(
      stages: { stages }, perform: { self.perform($0) },
      interrupt: { change, hasWaited in hasWaited || interrupt(change) }, setData: setData,
      completion: completion
    ).start(on: self)
  }

  /// Shows new data with a batch for each stage, and waits for the last batch.
  ///
  /// - Parameters:
  ///   - stages: The change from the shown data.
  ///   - interrupt: A closure that is called before each stage. If it returns `true`, the view
  ///     shows the new data immediately.
  ///   - setData: A closure that sets the data of the view. It is called at the beginning of each
  ///     batch.
  /// - Returns: `false` if a batch was cut short or the view was released, or at once if the calling task is
  ///   canceled. In that case, the reload continues.
  @discardableResult
  public func reloadAndFinish<Item>(
    using stages: StagedChangeset<Item, Changeset>,
    interrupt: @escaping @MainActor (Changeset) -> Bool = { _ in false },
    setData: @escaping @MainActor ([Item]) -> Void
  ) async -> Bool {
    await awaitCallback { callback in
      reload(using: stages, interrupt: interrupt, setData: setData) { callback($0) }
    } ?? false
  }
}

extension BatchUpdatingSectionedListView {
  /// Shows new sections with a batch for each stage.
  ///
  /// If you call this method during another reload of the same view, it begins after that reload.
  /// It then shows the new sections immediately, because its offsets may no longer fit the data.
  ///
  /// - Parameters:
  ///   - stages: The change from the shown sections. If there are no stages, nothing happens.
  ///   - interrupt: A closure that is called before each stage. If it returns `true`, the view
  ///     shows the sections of the last stage using `reloadData()`, and skips all remaining stages.
  ///     By default, no stage is skipped.
  ///   - setData: A closure that sets the data of the view. It is called at the beginning of each
  ///     batch.
  ///   - completion: A closure that is called once: after the last batch, or immediately if there
  ///     is no batch or if `interrupt` returns `true`. It receives `false` if a batch was cut short
  ///     or the view was released.
  public func reload<Section>(
    using stages: StagedChangeset<Section, SectionedChangeset>,
    interrupt: @escaping @MainActor (SectionedChangeset) -> Bool = { _ in false },
    setData: @escaping @MainActor ([Section]) -> Void,
    completion: @escaping @MainActor (_ isFinished: Bool) -> Void = { _ in }
  ) {
    StagedReload(
      stages: { stages }, perform: { self.perform($0) },
      interrupt: { change, hasWaited in hasWaited || interrupt(change) }, setData: setData,
      completion: completion
    ).start(on: self)
  }

  /// Shows new sections with a batch for each stage, and waits for the last batch.
  ///
  /// - Parameters:
  ///   - stages: The change from the shown sections.
  ///   - interrupt: A closure that is called before each stage. If it returns `true`, the view
  ///     shows the new sections immediately.
  ///   - setData: A closure that sets the data of the view. It is called at the beginning of each
  ///     batch.
  /// - Returns: `false` if a batch was cut short or the view was released, or at once if the calling task is
  ///   canceled. In that case, the reload continues.
  @discardableResult
  public func reloadAndFinish<Section>(
    using stages: StagedChangeset<Section, SectionedChangeset>,
    interrupt: @escaping @MainActor (SectionedChangeset) -> Bool = { _ in false },
    setData: @escaping @MainActor ([Section]) -> Void
  ) async -> Bool {
    await awaitCallback { callback in
      reload(using: stages, interrupt: interrupt, setData: setData) { callback($0) }
    } ?? false
  }
}
