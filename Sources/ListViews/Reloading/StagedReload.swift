import Diffing

/// How a view is brought to other data in stages.
@MainActor
struct StagedReload<Item, Change: Hashable & Sendable> {
  /// Makes the stages when the view is free for them, from the data that it shows by then.
  let stages: @MainActor () -> StagedChangeset<Item, Change>
  /// Tells the view the changes of one stage.
  let perform: @MainActor (Change) -> Void
  /// Whether the target is to be shown at once, rather than by this stage.
  let interrupt: @MainActor (_ change: Change, _ hasWaited: Bool) -> Bool
  /// Whether nothing is to be called any more.
  var isOver: @MainActor () -> Bool = { false }
  let setData: @MainActor ([Item]) -> Void
  let completion: ReloadCompletion.Handler

  func start(on view: some BatchUpdatingListView) {
    ReloadTurn.take(on: view) { turn, hasWaited in
      let completion = ReloadCompletion(self.completion)
      // Behind the turn: a view without animations would call it while others wait.
      turn.afterwards { completion.endBatches() }
      if isOver() { return }
      let stages = self.stages()
      guard let target = stages.last?.data else { return }
      for stage in stages {
        if isOver() { return }
        let isInterrupted = interrupt(stage.changeset, hasWaited)
        if isOver() { return }
        if isInterrupted {
          setData(target)
          view.reloadData()
          // What is still animated shows nothing any more.
          return turn.afterwards { completion.finish() }
        }
        view.performBatchUpdates(
          {
            setData(stage.data)
            perform(stage.changeset)
          }, completion: completion.beginBatch())
      }
    }
  }
}
