import Diffing

/// A reload of a view in stages.
@MainActor
struct StagedReload<Item, Change: Hashable & Sendable> {
  /// Returns the stages from the data that is shown when the view's turn comes.
  let stages: @MainActor () -> StagedChangeset<Item, Change>
  /// Calls the operations of one stage on the view.
  let perform: @MainActor (Change) -> Void
  /// Returns `true` to skip the remaining stages and show the new data immediately.
  let interrupt: @MainActor (_ change: Change, _ hasWaited: Bool) -> Bool
  /// Returns `true` if no closure may be called anymore.
  var isOver: @MainActor () -> Bool = { false }
  let setData: @MainActor ([Item]) -> Void
  let completion: ReloadCompletion.Handler

  func start(on view: some BatchUpdatingListView) {
    ReloadTurn.take(on: view) { turn, hasWaited in
      let completion = ReloadCompletion(self.completion)
      // Call the completion after the turn. A view without animations would call it while other
      // reloads wait.
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
          // Batches whose animation is still running no longer matter.
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

/// The turn of the reloads of one view.
///
/// Batches do not nest, and the stages of one reload stay together. A reload inside another reload
/// of the same view therefore waits until that one ends.
@MainActor
final class ReloadTurn {
  typealias Work = @MainActor (_ turn: ReloadTurn, _ hasWaited: Bool) -> Void

  /// The open turns. Each turn ends before the call that began it returns, and that call keeps the
  /// view alive.
  private static var open: [ObjectIdentifier: ReloadTurn] = [:]

  private var waiting: [Work] = []
  private var afterwards: [@MainActor () -> Void] = []

  private init() {}

  /// Performs work on a view now, or at the end of the open turn of that view.
  static func take(on view: AnyObject, _ work: @escaping Work) {
    let key = ObjectIdentifier(view)
    if let turn = open[key] { return turn.waiting.append(work) }
    let turn = ReloadTurn()
    open[key] = turn
    work(turn, false)
    while !turn.waiting.isEmpty { turn.waiting.removeFirst()(turn, true) }
    open[key] = nil
    for action in turn.afterwards { action() }
  }

  /// Performs an action after the turn has ended.
  func afterwards(_ action: @escaping @MainActor () -> Void) {
    afterwards.append(action)
  }
}

/// A completion handler that is called once, after all batches of a reload.
@MainActor
final class ReloadCompletion {
  typealias Handler = @MainActor (_ isFinished: Bool) -> Void

  private var handler: Handler?
  private var batchCount = 0
  private var isFinished = true
  private var isLastBegun = false

  init(_ handler: @escaping Handler) {
    self.handler = handler
  }

  deinit {
    // A released view does not call its completions.
    if let handler {
      Task { @MainActor in handler(false) }
    }
  }

  /// Begins a batch.
  ///
  /// - Returns: The completion of the batch. Further calls of it do nothing.
  func beginBatch() -> Handler {
    batchCount += 1
    var isDone = false
    return { isFinished in
      if isDone { return }
      isDone = true
      self.batchCount -= 1
      self.isFinished = self.isFinished && isFinished
      if self.isLastBegun && self.batchCount == 0 { self.finish() }
    }
  }

  /// Ends the list of batches.
  func endBatches() {
    isLastBegun = true
    if batchCount == 0 { finish() }
  }

  /// Calls the handler even if batches are still running.
  func finish() {
    let handler = self.handler
    self.handler = nil
    handler?(isFinished)
  }
}
