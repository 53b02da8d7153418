import Diffing
import ObservableCollections
import ReactiveSignals

/// One run of a ``OneWaySynchronizer``.
struct OneWayRun<Processor: OneWayProcessor>: Sendable {
  typealias Item = Processor.Item
  typealias Key = Processor.Key

  /// The run goes on with its end: it is cancelled, or a failure was noted.
  private struct Break: Error {}

  let processor: Processor
  let options: OneWayOptions
  let clock: any Clock<Duration>
  let record: OneWayRecord

  /// Does it all; what comes of it is in the record.
  func perform() async {
    defer { record.noteCancellation() }
    // Cancelled before it has begun, it is not ended either.
    guard (try? enter(.begin)) != nil else { return }
    try? await work()
    record.noteCancellation()
    await end()
  }

  private func work() async throws {
    try await carryOut(.begin) { try await processor.begin() }
    let fetched = try await step(.fetch) {
      try await retrying { try await processor.fetchSourceList() }
    }
    let list = ItemList(fetched)
    record.count { $0.listed = list.items.count }
    if let diagnostic = list.diagnostic { record.remark(diagnostic) }

    let localKeys = try await step(.localKeys) { try await processor.localKeys() }
    let gone = localKeys.subtracting(list.keys)
    if !gone.isEmpty {
      try await step(.remove, total: gone.count, key: shownKeys(gone)) {
        try await processor.removeLocalItems(gone)
      }
      record.count { $0.removed = gone.count }
    }
    let due = try await dueItems(of: list, localKeys)
    let prepared = try await step(.prepare) { try await processor.prepareDownload(due) }
    let chosen = list.chosen(prepared)
    if let diagnostic = chosen.diagnostic { record.remark(diagnostic) }
    try await download(chosen.items)
  }

  /// The items that are new, and those that the processor wants to have updated.
  private func dueItems(of list: ItemList<Item>, _ localKeys: Set<Key>) async throws -> [Item] {
    let areLocal = list.items.map { localKeys.contains($0.differenceIdentifier) }
    let localCount = areLocal.count { $0 }
    record.count { $0.new = list.items.count - localCount }
    if localCount == 0 { return list.items }
    try enter(.shouldUpdate, total: localCount)
    var due: [Item] = []
    for (item, isLocal) in zip(list.items, areLocal) {
      if isLocal {
        guard try await isOutdated(item) else { continue }
        record.count { $0.outdated += 1 }
      }
      due.append(item)
    }
    return due
  }

  /// Asks about an item that is on both sides.
  private func isOutdated(_ item: Item) async throws -> Bool {
    if Task.isCancelled { throw Break() }
    do {
      let isOutdated = try await processor.shouldUpdate(item.differenceIdentifier, item)
      record.advance()
      return isOutdated
    } catch {
      record.note(error, .shouldUpdate, item)
      throw Break()
    }
  }

  private func download(_ items: [Item]) async throws {
    if options.downloadPreview {
      try await downloadAll(items, .preview, counting: { $0.previews += 1 }) {
        try await processor.downloadPreview($0)
      }
    }
    if options.downloadContent {
      try await downloadAll(items, .content, counting: { $0.contents += 1 }) {
        try await processor.downloadContent($0)
      }
    }
  }

  /// Downloads all, some at the same time: when one is done, the next is begun.
  private func downloadAll(
    _ items: [Item], _ stage: OneWayStage,
    counting counter: @escaping @Sendable (inout OneWayOutcome) -> Void,
    _ body: @escaping @Sendable (Item) async throws -> Void
  ) async throws {
    if items.isEmpty { return }
    try enter(stage, total: items.count)
    await withTaskGroup(of: Void.self) { group in
      func begin(_ item: Item) {
        group.addTask {
          // Another one may have failed before this one could begin.
          if mustStop { return }
          do {
            try await retrying { try await body(item) }
            record.count(counter)
            record.advance()
          } catch {
            record.noteDownload(error, stage, item)
          }
        }
      }
      let width = options.width
      for item in items.prefix(width) { begin(item) }
      var rest = items.dropFirst(width).makeIterator()
      while await group.next() != nil {
        if mustStop {
          group.cancelAll()
        } else if let item = rest.next() {
          begin(item)
        }
      }
    }
    if mustStop { throw Break() }
  }

  /// Whether no download is begun any more.
  private var mustStop: Bool { Task.isCancelled || options.stopOnError && record.hasFailed }

  /// Ends the run, also one that was cancelled: the processor's `end` does not feel it, so that it can
  /// put away what there is.
  private func end() async {
    record.enter(.end)
    let ending = Task { [processor] in try await processor.end() }
    do {
      try await ending.value
      record.advance()
    } catch {
      record.add(OneWayFailure(stage: .end, cause: error))
    }
  }

  // MARK: Means

  /// Begins a stage. It may be cancelled by who is told so.
  private func enter(_ stage: OneWayStage, total: Int = 1) throws {
    if Task.isCancelled { throw Break() }
    record.enter(stage, total: total)
    if Task.isCancelled { throw Break() }
  }

  /// Does what a stage is for, once.
  private func carryOut<Result>(
    _ stage: OneWayStage, total: Int = 1, key: @autoclosure () -> String? = nil,
    _ body: () async throws -> Result
  ) async throws -> Result {
    do {
      let result = try await body()
      record.advance(by: total)
      return result
    } catch {
      record.note(error, stage, key: key())
      throw Break()
    }
  }

  /// Begins a stage and does it.
  private func step<Result>(
    _ stage: OneWayStage, total: Int = 1, key: @autoclosure () -> String? = nil,
    _ body: () async throws -> Result
  ) async throws -> Result {
    try enter(stage, total: total)
    return try await carryOut(stage, total: total, key: key(), body)
  }

  /// Tries again as the options say. If a pause is cut short, it failed by what went wrong before it.
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
