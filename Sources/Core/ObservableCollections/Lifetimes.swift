import Diffing
public import ReactiveSignals
import SwappablePrimitives

extension DataSource {
  /// Does work for each element as long as it is in the collection.
  ///
  ///     let subscriptions = devices.forEach(lifetime: { device in
  ///       device.events.observe { print(device.name, $0) }
  ///     })
  ///
  /// | in | work |
  /// |---|---|
  /// | the element is there at first, or is inserted | starts |
  /// | delete | ends |
  /// | move | goes on |
  /// | update | ends, and starts anew; or goes on, if the second closure accepts the new element |
  ///
  /// Of one event, all ends come before all starts. Each start has exactly one end: the deletion of the element, an update,
  /// or the end of the observation.
  ///
  /// - Parameters:
  ///   - scheduler: Where to call the closures. By default, on the thread that edits. Disposing of the handle ends the work
  ///     on the thread that disposes of it.
  ///   - lifetime: A closure that starts the work for an element. Disposing of the handle that it returns ends the work.
  ///   - update: A closure that receives an updated element, and returns whether the work goes on. It is not asked if the
  ///     identity has changed. By default, the work starts anew.
  /// - Returns: A handle that keeps the observation. Disposing of it ends the work for all elements. If a closure runs on
  ///   another thread at this moment, the work ends when it has returned, for which `disposeAndWait()` waits.
  /// - Complexity: O(k log n) for a change of k of n elements.
  public func forEach(
    on scheduler: DeliveryScheduler = .immediate,
    lifetime: @escaping @Sendable (Element) -> Disposable?,
    update: @escaping @Sendable (_ old: Element, _ new: Element) -> Bool = { _, _ in false }
  ) -> Disposable {
    let lifetimes = Lifetimes(lifetime, update)
    let observation = observe(on: scheduler) { lifetimes.follow($0) }
    observation.onDispose { lifetimes.end() }
    return observation
  }

  /// Runs a task for each element as long as it is in the collection.
  ///
  ///     let polling = servers.runTask { server in
  ///       while !Task.isCancelled { await server.check() }
  ///     }
  ///
  /// The task of an element is canceled when the element is deleted or updated, and when the observation ends. An updated
  /// element gets a new one, unless the second closure returns `true`.
  ///
  /// - Parameters:
  ///   - task: A closure that is the work for an element.
  ///   - update: A closure that receives an updated element, and returns whether its task goes on. By default, it does not.
  /// - Returns: A handle that keeps the observation. Disposing of it cancels all tasks.
  /// - Complexity: O(k log n) for a change of k of n elements.
  public func runTask(
    forEach task: @escaping @Sendable (Element) async -> Void,
    update: @escaping @Sendable (_ old: Element, _ new: Element) -> Bool = { _, _ in false }
  ) -> Disposable {
    forEach(
      lifetime: { element in
        let task = Task { await task(element) }
        return Disposable { task.cancel() }
      }, update: update)
  }
}

/// The work for the elements of a collection.
private final class Lifetimes<Element: Differentiable & Sendable>: @unchecked Sendable {
  // Sendable: `rows` belongs to the observer, which is never called concurrently with itself. After the observation has
  // ended, it belongs to `end()`, or to the call of the observer that is still running.

  private let start: @Sendable (Element) -> Disposable?
  private let update: @Sendable (Element, Element) -> Bool
  private var rows = InputRows<Disposable?>()
  private let use = Locked((isRunning: false, isOver: false))

  init(
    _ start: @escaping @Sendable (Element) -> Disposable?,
    _ update: @escaping @Sendable (Element, Element) -> Bool
  ) {
    (self.start, self.update) = (start, update)
  }

  /// Ends all work, now or at the end of the call that is running.
  func end() {
    let isRunning = use.withLock { use in
      use.isOver = true
      return use.isRunning
    }
    if !isRunning { endAll() }
  }

  private func endAll() {
    let handles = rows.order.rows.map { rows[$0] }
    rows = InputRows()
    for handle in handles { handle?.dispose() }
  }

  private var isOver: Bool { use.withLock { $0.isOver } }

  func follow(_ event: CollectionEvent<Element>) {
    let isOver = use.withLock { use in
      use.isRunning = !use.isOver
      return use.isOver
    }
    if isOver { return }
    switch event {
    case .initial(let contents, _):
      rows = InputRows(contents.map { _ in nil })
      begin(Array(contents.indices), contents)
    case .change(let change): follow(change)
    }
    let mustEnd = use.withLock { use in
      use.isRunning = false
      return use.isOver
    }
    if mustEnd { endAll() }
  }

  private func follow(_ change: CollectionChange<Element>) {
    let (changeset, before, after) = (change.changeset, change.before, change.after)
    let deleted = changeset.deletions.map { rows[rows.order[$0]] }
    rows.follow(changeset) { _ in nil }
    _ = rows.renumberIfSparse()
    for handle in deleted { handle?.dispose() }
    let renewed = changeset.updates.filter { change in
      if isOver { return false }
      let (old, new) = (before[change.from], after[change.to])
      return !old.hasSameIdentity(as: new) || !update(old, new)
    }
    for change in renewed { rows[rows.order[change.to]].take()?.dispose() }
    begin((changeset.insertions + renewed.map(\.to)).sorted(), after)
  }

  private func begin(_ offsets: [Int], _ contents: Snapshot<Element>) {
    for offset in offsets where !isOver { rows[rows.order[offset]] = start(contents[offset]) }
  }
}
