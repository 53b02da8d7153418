import ObservableCollections
import ReactiveSignals
import SwappablePrimitives

extension SessionCore {
  typealias Save = Task<Result<Void, SynchronizationError>, Never>

  /// The state of saving. Saves run one after another.
  struct Saving: Sendable {
    /// The last requested save.
    var last: Save?
    /// A Boolean value that indicates whether a save is pending that will include all edits so far.
    var isPlanned = false
    /// The mark of the last saved state.
    var saved: Mark?
  }

  /// Reads the store, and merges the saved contents with the contents of the client.
  func load() async throws(SynchronizationError) {
    guard let store else { return }
    let stored: State?
    do {
      stored = try await store.load()
    } catch {
      throw SynchronizationError(
        .load, at: nil,
        "cannot read the state of the session from \(name(of: store)): \(error); it stays "
          + "unchanged: repair it, or remove it to begin again",
        underlying: error)
    }
    if let stored {
      let origin = client.snapshot
      let merge = try await merge(Snapshot(), origin, stored.client)
      _ = adopt(merge.mergedSnapshot, from: origin, by: merge.changesForMine) { memory, _ in
        memory = Memory(shadow: stored.shadow, version: stored.version, push: stored.push)
      }
    }
    let capture = capture()
    if capture.state.client.hasSameContents(as: stored?.client ?? Snapshot()) {
      saving.withLock { $0.saved = capture.mark }
    }
  }

  /// Saves the current state, unless it is already saved.
  func save() async throws(SynchronizationError) {
    guard store != nil else { return }
    // The save is a task of its own, because canceling the caller must not cancel it.
    try await enqueueSave().value.get()
  }

  /// Requests a save that includes all edits until it begins.
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
        "cannot save the state of the session to \(name(of: store)): \(error); the previous "
          + "state is still there, and the next save tries again",
        underlying: error)
      saveFailure.value = failure
      return .failure(failure)
    }
    saving.withLock { $0.saved = capture.mark }
    if saveFailure.value != nil { saveFailure.value = nil }
    return .success(())
  }

  /// Returns the name of a remote or a store for error messages: its description, or its type.
  func name(of place: Any) -> String {
    (place as? any CustomStringConvertible)?.description ?? "\(type(of: place))"
  }
}
