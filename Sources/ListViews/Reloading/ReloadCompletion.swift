/// Calls a completion handler once, when all batches of a reload are done.
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
    // A view that is let go of takes with it what it has not called.
    if let handler {
      Task { @MainActor in handler(false) }
    }
  }

  /// Begins a batch.
  ///
  /// - Returns: What to call when it is done; called again it does nothing.
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

  /// Says that no other batch follows.
  func endBatches() {
    isLastBegun = true
    if batchCount == 0 { finish() }
  }

  /// Calls the handler, whatever batches are still under way.
  func finish() {
    let handler = self.handler
    self.handler = nil
    handler?(isFinished)
  }
}
