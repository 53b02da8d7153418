import ObservableCollections
import ReactiveSignals
import SwappablePrimitives

extension SessionCore {
  typealias Save = Task<Result<Void, SynchronizationError>, Never>

  /// The saves, one after the other.
  struct Saving: Sendable {
    /// The one that was asked for last.
    var last: Save?
    /// Whether there is one that has not begun, and so saves whatever is edited by now.
    var isPlanned = false
    /// What was saved last.
    var saved: Mark?
  }

  /// Reads the store. What the client holds by then is kept.
  func load() async throws(SynchronizationError) {
    guard let store else { return }
    let stored: State?
    do {
      stored = try await store.load()
    } catch {
      throw SynchronizationError(
        .load, at: nil,
        "the state of the synchronisation could not be read from \(name(of: store)): \(error); it "
          + "is left as it is: repair it, or take it away to begin anew",
        underlying: error)
    }
    if let stored {
      let origin = client.snapshot
      let merge = ThreeWayMerge(
        base: Snapshot(), mine: origin, theirs: stored.client, resolve: options.resolve)
      _ = adopt(merge.mergedSnapshot, from: origin, by: merge.changesForMine) { memory, _ in
        memory = Memory(shadow: stored.shadow, version: stored.version, push: stored.push)
      }
    }
    let capture = capture()
    if capture.state.client.hasSameContents(as: stored?.client ?? Snapshot()) {
      saving.withLock { $0.saved = capture.mark }
    }
  }

  /// Saves what is known and edited by now; does nothing where that is saved already.
  func save() async throws(SynchronizationError) {
    guard store != nil else { return }
    // A task of its own: what is accepted is saved, though the one who waits is cancelled.
    try await enqueueSave().value.get()
  }

  /// Saves what is edited by now and until then, when it is this save's turn.
  func saveSoon() {
    guard store != nil else { return }
    let isFirst = saving.withLock { saving in
      defer { saving.isPlanned = true }
      return !saving.isPlanned
    }
    if isFirst { enqueueSave() }
  }

  @discardableResult
  private func enqueueSave() -> Save {
    let (save, previous) = saving.withLock { saving in
      let previous = saving.last
      let save = Save {
        _ = await previous?.value
        return await self.saveNow()
      }
      saving.last = save
      return (save, previous)
    }
    withExtendedLifetime(previous) {}
    return save
  }

  private func saveNow() async -> Result<Void, SynchronizationError> {
    guard let store else { return .success(()) }
    saving.withLock { $0.isPlanned = false }
    let capture = capture()
    guard saving.withLock({ $0.saved }) != capture.mark else { return .success(()) }
    do {
      try await store.save(capture.state)
    } catch {
      let failure = SynchronizationError(
        .save, at: .saving,
        "the state of the synchronisation could not be saved to \(name(of: store)): \(error); "
          + "what was saved before is still there, and the next save saves all",
        underlying: error)
      saveFailure.value = failure
      return .failure(failure)
    }
    saving.withLock { $0.saved = capture.mark }
    if saveFailure.value != nil { saveFailure.value = nil }
    return .success(())
  }

  /// What a remote or a store is called in errors: its description, or its type.
  func name(of place: Any) -> String {
    (place as? any CustomStringConvertible)?.description ?? "\(type(of: place))"
  }
}
