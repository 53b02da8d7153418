public import Diffing

extension BatchUpdatingListView {
  /// Brings the view to other data, with a batch for each stage.
  ///
  ///     let stages = StagedChangeset(from: rows, to: newRows)
  ///     view.reload(using: stages, interrupt: { $0.changeCount > 100 }) { rows in
  ///       self.rows = rows
  ///     }
  ///
  /// Asked for while another reload of the same view is under way, by what that one calls, it is done
  /// behind that one and shows its target at once, since its offsets may count in other data by then.
  ///
  /// - Parameters:
  ///   - stages: The change, from the data that is shown. Without a stage there is nothing to do.
  ///   - interrupt: Asked before each stage: true shows the target at once, by `reloadData()`, and leaves
  ///     out this stage and those behind it. By default nothing is left out.
  ///   - setData: Sets what the view shows; called inside each batch, before its changes are told.
  ///   - completion: Called once when the last batch is done, or at once where there is none or where
  ///     `interrupt` says so; with false where a batch was cut short, or the view was let go of.
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

  /// Brings the view to other data, with a batch for each stage, and waits until the last one is done.
  ///
  /// - Parameters:
  ///   - stages: The change, from the data that is shown.
  ///   - interrupt: Asked before each stage: true shows the target at once.
  ///   - setData: Sets what the view shows; called inside each batch, before its changes are told.
  /// - Returns: False where a batch was cut short, or the view was let go of.
  @discardableResult
  public func reload<Item>(
    using stages: StagedChangeset<Item, Changeset>,
    interrupt: @escaping @MainActor (Changeset) -> Bool = { _ in false },
    setData: @escaping @MainActor ([Item]) -> Void
  ) async -> Bool {
    await withCheckedContinuation { continuation in
      reload(using: stages, interrupt: interrupt, setData: setData) {
        continuation.resume(returning: $0)
      }
    }
  }
}

extension BatchUpdatingSectionedListView {
  /// Brings the view to other sections, with a batch for each stage.
  ///
  /// Asked for while another reload of the same view is under way, by what that one calls, it is done
  /// behind that one and shows its target at once, since its offsets may count in other data by then.
  ///
  /// - Parameters:
  ///   - stages: The change, from the sections that are shown. Without a stage there is nothing to do.
  ///   - interrupt: Asked before each stage: true shows the target at once, by `reloadData()`, and leaves
  ///     out this stage and those behind it. By default nothing is left out.
  ///   - setData: Sets what the view shows; called inside each batch, before its changes are told.
  ///   - completion: Called once when the last batch is done, or at once where there is none or where
  ///     `interrupt` says so; with false where a batch was cut short, or the view was let go of.
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

  /// Brings the view to other sections, with a batch for each stage, and waits until the last is done.
  ///
  /// - Parameters:
  ///   - stages: The change, from the sections that are shown.
  ///   - interrupt: Asked before each stage: true shows the target at once.
  ///   - setData: Sets what the view shows; called inside each batch, before its changes are told.
  /// - Returns: False where a batch was cut short, or the view was let go of.
  @discardableResult
  public func reload<Section>(
    using stages: StagedChangeset<Section, SectionedChangeset>,
    interrupt: @escaping @MainActor (SectionedChangeset) -> Bool = { _ in false },
    setData: @escaping @MainActor ([Section]) -> Void
  ) async -> Bool {
    await withCheckedContinuation { continuation in
      reload(using: stages, interrupt: interrupt, setData: setData) {
        continuation.resume(returning: $0)
      }
    }
  }
}
