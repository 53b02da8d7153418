import Diffing
import ObservableCollections
import ReactiveSignals

/// A single run of a ``OneWaySynchronizer``.
struct OneWayRun<Remote: OneWayRemote, Store: OneWayStore>: Sendable
where Store.Item == Remote.Item, Store.Content == Remote.Content {
  typealias Item = Remote.Item
  typealias Stage = OneWaySynchronizer.Stage

  /// Ends the stages before `end`: the run was canceled, or the record has a failure.
  private struct Interruption: Error {}

  let remote: Remote
  let store: Store
  let options: OneWaySynchronizer.Options
  let clock: any Clock<Duration>
  let record: OneWayRecord

  /// Performs all stages. The result is in the record.
  func perform() async {
    defer { record.noteCancellation() }
    // A run that was canceled before it began does not call `finish`.
    guard (try? enter(.begin)) != nil else { return }
    var list: UniqueItems<Item>?
    try? await performStages(&list)
    record.noteCancellation()
    await end(list?.items)
  }

  private func performStages(_ list: inout UniqueItems<Item>?) async throws {
    try await carryOut(.begin) { try await store.begin() }
    let fetched = try await perform(.fetch) { try await retrying { try await remote.items() } }
    let items = UniqueItems(fetched)
    list = items
    record.count { $0.listed = items.items.count }
    if let diagnostic = items.diagnostic { record.add(diagnostic) }

    let localKeys = try await perform(.localKeys) { try await store.keys() }
    let gone = localKeys.subtracting(items.keys)
    if !gone.isEmpty {
      let refusal = options.removalLimit.refusal(of: gone.count, among: localKeys.count)
      // The store does not change its order either.
      if refusal != nil { list = nil }
      try await perform(.remove, total: gone.count, key: shownKeys(gone)) {
        if let refusal { throw refusal }
        try await store.remove(gone)
      }
      countRemoval(gone)
    }
    let due = try await dueItems(of: items, localKeys)
    let prepared = try await perform(.prepare) { try await remote.prepareDownloads(due) }
    let chosen = items.listed(prepared)
    if let diagnostic = chosen.diagnostic { record.add(diagnostic) }
    try await download(chosen.items)
  }

  /// Finds out what a run would do. The result is in the record.
  func plan() async {
    try? await findDifferences()
    record.noteCancellation()
  }

  private func findDifferences() async throws {
    let items = UniqueItems(
      try await perform(.fetch) { try await retrying { try await remote.items() } })
    record.count { $0.listed = items.items.count }
    if let diagnostic = items.diagnostic { record.add(diagnostic) }
    let localKeys = try await perform(.localKeys) { try await store.keys() }
    let gone = localKeys.subtracting(items.keys)
    countRemoval(gone)
    if let refusal = options.removalLimit.refusal(of: gone.count, among: localKeys.count) {
      record.add(SourceStatus.Diagnostic(code: refusal.code, message: refusal.message))
    }
    _ = try await dueItems(of: items, localKeys)
  }

  private func countRemoval(_ keys: Set<Store.Key>) {
    record.count { $0.removedKeys = keys.map { "\($0)" }.sorted() }
  }

  /// Returns the new and the outdated items, unless the store refuses them.
  private func dueItems(
    of list: UniqueItems<Item>, _ localKeys: Set<Store.Key>
  ) async throws -> [Item] {
    let localCount = list.items.count { localKeys.contains($0.differenceIdentifier) }
    if localCount > 0 { try enter(.shouldUpdate, total: localCount) }
    var due: [Item] = []
    for item in list.items {
      let isLocal = localKeys.contains(item.differenceIdentifier)
      if isLocal, try await !isOutdated(item) { continue }
      record.countDue(item, isNew: !isLocal)
      if let refusal = store.refusal(of: item) {
        record.add(refusal, item)
      } else {
        due.append(item)
      }
    }
    return due
  }

  private func isOutdated(_ item: Item) async throws -> Bool {
    if Task.isCancelled { throw Interruption() }
    do {
      let isOutdated = try await store.isOutdated(item)
      record.advance()
      return isOutdated
    } catch {
      record.add(error, .shouldUpdate, item)
      throw Interruption()
    }
  }

  private func download(_ items: [Item]) async throws {
    if options.downloadsPreview {
      try await downloadAll(items, .preview, counting: { $0.previews += 1 }) { item in
        guard let preview = try await remote.preview(of: item) else { return }
        try await store.storePreview(preview, of: item)
      }
    }
    if options.downloadsContent {
      try await downloadAll(items, .content, counting: { $0.contents += 1 }) { item in
        try await store.store(remote.content(of: item), of: item)
      }
    }
  }

  /// Downloads all items, a limited number at the same time.
  private func downloadAll(
    _ items: [Item], _ stage: Stage,
    counting counter: @escaping @Sendable (inout OneWaySynchronizer.Outcome) -> Void,
    _ body: @escaping @Sendable (Item) async throws -> Void
  ) async throws {
    if items.isEmpty { return }
    try enter(stage, total: items.count)
    await withTaskGroup(of: Void.self) { group in
      func begin(_ item: Item) {
        group.addTask {
          // Another download may have failed before this task began.
          if mustStop { return }
          do {
            let refusal = try await retrying { () -> OneWaySynchronizer.Refusal? in
              do { try await body(item) } catch let error as OneWaySynchronizer.Refusal {
                return error
              }
              return nil
            }
            if let refusal { record.add(refusal, item) } else { record.count(counter) }
            record.advance()
          } catch {
            record.addDownload(error, stage, item)
          }
        }
      }
      let limit = options.downloadLimit
      for item in items.prefix(limit) { begin(item) }
      var rest = items.dropFirst(limit).makeIterator()
      while await group.next() != nil {
        if mustStop {
          group.cancelAll()
        } else if let item = rest.next() {
          begin(item)
        }
      }
    }
    if mustStop { throw Interruption() }
  }

  /// A Boolean value that indicates whether no further download may begin.
  private var mustStop: Bool { Task.isCancelled || options.stopsOnError && record.hasFailed }

  /// Ends the run. A task of its own hides the cancellation from the store, which can clean up.
  private func end(_ list: [Item]?) async {
    record.enter(.end)
    let ending = Task { [store] in try await store.finish(list) }
    do {
      try await ending.value
      record.advance()
    } catch {
      record.add(OneWayError.Failure(stage: .end, cause: error))
    }
  }

  /// Enters a stage. An observer of the progress may cancel the run, so this method checks twice.
  private func enter(_ stage: Stage, total: Int = 1) throws {
    if Task.isCancelled { throw Interruption() }
    record.enter(stage, total: total)
    if Task.isCancelled { throw Interruption() }
  }

  /// Performs the work of a stage that the run has entered.
  private func carryOut<Result>(
    _ stage: Stage, total: Int = 1, key: @autoclosure () -> String? = nil,
    _ body: () async throws -> Result
  ) async throws -> Result {
    do {
      let result = try await body()
      record.advance(by: total)
      return result
    } catch {
      record.add(error, stage, key: key())
      throw Interruption()
    }
  }

  /// Enters a stage and performs its work.
  private func perform<Result>(
    _ stage: Stage, total: Int = 1, key: @autoclosure () -> String? = nil,
    _ body: () async throws -> Result
  ) async throws -> Result {
    try enter(stage, total: total)
    return try await carryOut(stage, total: total, key: key(), body)
  }

  /// Repeats a failed operation under the retry policy.
  ///
  /// If a pause is interrupted, this method throws the error from before the pause.
  private func retrying<Result>(_ body: () async throws -> Result) async throws -> Result {
    var last: (any Error)?
    do {
      return try await options.retry.run(by: clock) {
        do { return try await body() } catch {
          last = error
          throw error
        }
      }
    } catch {
      throw error is CancellationError ? last ?? error : error
    }
  }
}

/// The items of a remote list, each key once. The first item of a key counts.
struct UniqueItems<Item: Differentiable & Sendable> {
  private(set) var items: [Item] = []
  private(set) var keys: Set<Item.DifferenceIdentifier> = []
  /// A remark that names a duplicate key.
  let diagnostic: SourceStatus.Diagnostic?

  init(_ listed: [Item]) {
    items.reserveCapacity(listed.count)
    keys.reserveCapacity(listed.count)
    var firstDuplicate: Item?
    for item in listed {
      if keys.insert(item.differenceIdentifier).inserted {
        items.append(item)
      } else {
        firstDuplicate = firstDuplicate ?? item
      }
    }
    diagnostic = firstDuplicate.map { [surplus = listed.count - items.count] item in
      SourceStatus.Diagnostic(
        code: "duplicate-identity",
        message: "The remote lists the key \(shownKey(item.differenceIdentifier)) more than once. "
          + "The first item of a key counts, and \(surplus) "
          + (surplus == 1 ? "other is ignored." : "others are ignored."))
    }
  }

  /// Returns the prepared items that the remote lists, each key once.
  ///
  /// - Returns: These items, and a remark on ignored items.
  func listed(_ prepared: [Item]) -> (items: [Item], diagnostic: SourceStatus.Diagnostic?) {
    var seen: Set<Item.DifferenceIdentifier> = []
    var listed: [Item] = []
    var foreign: [Item] = []
    for item in prepared {
      let key = item.differenceIdentifier
      if !keys.contains(key) {
        foreign.append(item)
      } else if seen.insert(key).inserted {
        listed.append(item)
      }
    }
    let diagnostic = foreign.first.map { item in
      SourceStatus.Diagnostic(
        code: "foreign-item",
        message: "prepareDownloads returned items that the remote does not list. They are ignored: "
          + "\(foreign.count), beginning with \(shownKey(item.differenceIdentifier)).")
    }
    return (listed, diagnostic)
  }
}
