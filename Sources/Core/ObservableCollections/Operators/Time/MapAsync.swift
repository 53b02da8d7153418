public import Diffing
import ReactiveSignals
import SwappablePrimitives

extension DataSource {
  /// Derives a collection of elements that are transformed asynchronously.
  ///
  ///     let thumbnails = photos.mapAsync(concurrency: 4) { photo in
  ///       Thumbnail(id: photo.id, image: try await load(photo.url))
  ///     }
  ///
  /// | in | out |
  /// |---|---|
  /// | insert | insert of the placeholder, or nothing; when the result is there, update, or insert |
  /// | delete | delete; or nothing if there is nothing to show yet |
  /// | update | update of the placeholder, or nothing; when the new result is there, update or insert |
  /// | move | move; or nothing if there is nothing to show yet |
  /// | results | one change for all results that are there |
  /// | an error | nothing; a diagnostic in the status |
  /// | no transform starts or returns for 10 seconds, although elements wait | nothing; a diagnostic in the status |
  ///
  /// The elements are in the order of the source. At most `concurrency` transforms run at once, and they start in the
  /// order in which their elements were inserted or updated. If an element is deleted or updated, its task is canceled, and
  /// its result is dropped. A canceled transform counts as running until it returns. If transforms never return, the elements
  /// that wait are never transformed, and the status has a diagnostic with the code `stalled-transform`, which names the element
  /// of the transform that has run for the longest time.
  ///
  /// While an updated element is transformed, its old value stays, unless the update sets another identity. If a
  /// transform throws, the old value stays as well, and the status has a diagnostic with the code `failed-transform` until the
  /// element is transformed again or deleted. The other elements are not affected. An element is not transformed again
  /// before it is updated.
  ///
  /// After all transforms have returned, the contents equal `elements.map(transform)`. Releasing the collection cancels
  /// all tasks. `flush()` does not wait for tasks.
  ///
  /// - Parameters:
  ///   - concurrency: The maximum number of transforms that run at once, at least 1.
  ///   - clock: The clock that measures how long transforms take.
  ///   - placeholder: A closure that returns the value of an element that has no result yet, or `nil` to leave such
  ///     elements out. It is called once for each inserted element, and for each updated one without a result. The value
  ///     should have the identity of the result, because the result is then an update.
  ///   - transform: A closure that is called once for each inserted or updated element.
  /// - Complexity: O(k log n) for a change of k of n elements, or for k results.
  public func mapAsync<Output: Differentiable & Sendable>(
    concurrency: Int, clock: any Clock<Duration> = ContinuousClock(),
    placeholder: (@Sendable (Element) -> Output)? = nil,
    transform: @escaping @Sendable (Element) async throws -> Output
  ) -> LiveCollection<Output> {
    precondition(concurrency > 0, "concurrency must be at least 1, but is \(concurrency)")
    let results = LiveCollection<AsyncValue<Element, Output>> { inputs in
      let input = inputs.collection(self)
      return AsyncMapOperator(
        input: input,
        tasks: TransformTasks(inputs.updateTrigger(), limit: concurrency, transform: transform),
        alarm: inputs.alarm(clock), placeholder: placeholder)
    }
    return results.compactMap(\.value)
  }
}

/// The place of an element, with the value that is shown for it, if there is one.
private struct AsyncValue<Input: Differentiable & Sendable, Output: Differentiable & Sendable>:
  Differentiable, @unchecked Sendable
{
  // Sendable: an identity is part of an element, which is sendable.

  let differenceIdentifier: Input.DifferenceIdentifier
  let value: Output?
  /// A Boolean value that indicates whether the value is a result, and no placeholder.
  let isResult: Bool

  init(_ element: Input, _ value: Output?, isResult: Bool) {
    differenceIdentifier = element.differenceIdentifier
    self.value = value
    self.isResult = isResult
  }

  func isContentEqual(to source: AsyncValue) -> Bool {
    isResult == source.isResult && value.isSame(as: source.value)
  }
}

/// An operator that transforms the elements of its input in tasks.
///
/// Each element that has no result for its present content has a *job*, which waits or runs.
private struct AsyncMapOperator<
  Input: Differentiable & Sendable, Output: Differentiable & Sendable
>: ~Copyable, CollectionOperator {
  typealias Value = AsyncValue<Input, Output>

  let input: CollectionInput<Input>
  let tasks: TransformTasks<Input, Output>
  let alarm: Alarm
  let placeholder: (@Sendable (Input) -> Output)?
  /// The elements, each with the number of its job, or 0 if it has a result.
  var rows = InputRows<Int>()
  /// The rows of all jobs.
  var rowsOfJobs: [Int: UInt32] = [:]
  var jobCount = 0
  var failures = TransformFailures()
  /// The time at which transforms that keep others waiting have stalled.
  var stallDeadline = Alarm.never

  mutating func start(_ output: CollectionDraft<Value>) {
    let elements = input.snapshot
    rows = InputRows(Array(repeating: 0, count: elements.count))
    for row in rows.order.rows { addJob(for: row) }
    output.append(contentsOf: elements.map { Value($0, placeholder?($0), isResult: false) })
    startWaiting(hasResults: false)
  }

  mutating func update(_ output: CollectionDraft<Value>) {
    if let change = input.change { follow(change, output) }
    if let numbers = rows.renumberIfSparse() {
      rowsOfJobs = rowsOfJobs.mapValues { numbers[Int($0)] }
      failures.renumber(numbers)
    }
    let results = tasks.takeResults()
    if !results.isEmpty { settle(results, output) }
    startWaiting(hasResults: !results.isEmpty)
    let diagnostics = [failures.diagnostic, stallDiagnostic].compactMap(\.self)
    output.newStatus = diagnostics.isEmpty ? nil : SourceStatus(.loaded, diagnostics: diagnostics)
  }

  // MARK: Changes of the input

  mutating func follow(_ change: CollectionChange<Input>, _ output: CollectionDraft<Value>) {
    let (changeset, before, after) = (change.changeset, change.before, change.after)
    for offset in changeset.deletions {
      let row = rows.order[offset]
      cancelJob(of: row)
      failures.remove(row)
    }
    rows.follow(changeset) { _ in 0 }
    for offset in changeset.insertions { addJob(for: rows.order[offset]) }
    var results: [Int: Output] = [:]
    for update in changeset.updates {
      let row = rows.order[update.to]
      // An element that waits is read when its job starts.
      if rows[row] == 0 || tasks.isRunning(rows[row]) {
        cancelJob(of: row)
        addJob(for: row)
      }
      let isKept = before[update.from].hasSameIdentity(as: after[update.to])
      let old = output[update.from]
      if isKept, old.isResult { results[update.to] = old.value }
    }
    output.apply(valid: changeset) { offset in
      let (element, result) = (after[offset], results[offset])
      return Value(element, result ?? placeholder?(element), isResult: result != nil)
    }
  }

  mutating func addJob(for row: UInt32) {
    jobCount += 1
    rows[row] = jobCount
    rowsOfJobs[jobCount] = row
    tasks.enqueue(jobCount)
  }

  mutating func cancelJob(of row: UInt32) {
    guard rows[row] > 0 else { return }
    rowsOfJobs[rows[row]] = nil
    tasks.cancel(rows[row])
    rows[row] = 0
  }

  /// Starts jobs that wait, as many as may run.
  ///
  /// - Parameter hasResults: A Boolean value that indicates whether transforms have returned.
  mutating func startWaiting(hasResults: Bool) {
    let elements = input.snapshot
    var hasProgress = hasResults
    while let job = tasks.takeWaiting(where: { rowsOfJobs[$0] != nil }),
      let row = rowsOfJobs[job]
    {
      tasks.start(job, elements[rows.order.offset(of: row)])
      hasProgress = true
    }
    let hasWaiting = rowsOfJobs.count > tasks.startedCount
    if !hasWaiting || hasProgress { stallDeadline = Alarm.never }
    if hasWaiting, stallDeadline == Alarm.never {
      stallDeadline = alarm.deadline(after: .seconds(10), from: alarm.now)
    }
    if alarm.now < stallDeadline { alarm.ring(at: stallDeadline) }
  }

  /// The diagnostic of transforms that keep other elements waiting, or `nil` if there are none.
  var stallDiagnostic: SourceStatus.Diagnostic? {
    guard alarm.now >= stallDeadline, let oldest = tasks.oldest else { return nil }
    let waiting = rowsOfJobs.count - tasks.startedCount
    return SourceStatus.Diagnostic(
      code: "stalled-transform",
      message: """
        \(waiting == 1 ? "1 element waits" : "\(waiting) elements wait"), because no transform has returned for \
        10 seconds. The first one transforms the element with the identity \(oldest.differenceIdentifier). Give \
        transforms a limit of time, and let them end when they are canceled.
        """)
  }

  // MARK: Results

  /// Shows the results of jobs that were not canceled.
  mutating func settle(
    _ results: [TransformTasks<Input, Output>.JobResult], _ output: CollectionDraft<Value>
  ) {
    let elements = input.snapshot
    var values: [Int: Output] = [:]
    for result in results {
      guard let row = rowsOfJobs.removeValue(forKey: result.job) else { continue }
      rows[row] = 0
      switch result.outcome {
      case .success(let value):
        values[rows.order.offset(of: row)] = value
        failures.remove(row)
      case .failure(let error): failures.add(row, error)
      }
    }
    let updates = values.keys.sorted().map { Changeset.Update(from: $0, to: $0) }
    output.apply(valid: Changeset(updates: updates)) {
      Value(elements[$0], values[$0], isResult: true)
    }
  }
}

/// The elements whose transform has thrown an error.
private struct TransformFailures: Sendable {
  /// The errors of the rows, each with its number.
  private var errors: [UInt32: (number: Int, error: any Error)] = [:]
  /// The rows and numbers in the order of the errors. Some are over, but not the last one.
  private var order: [(row: UInt32, number: Int)] = []
  private var count = 0

  mutating func add(_ row: UInt32, _ error: any Error) {
    count += 1
    errors[row] = (count, error)
    order.append((row, count))
    if order.count > 2 * errors.count + 64 { order.removeAll(where: isOver) }
  }

  mutating func remove(_ row: UInt32) {
    errors[row] = nil
    while let last = order.last, isOver(last) { order.removeLast() }
  }

  private func isOver(_ entry: (row: UInt32, number: Int)) -> Bool {
    errors[entry.row]?.number != entry.number
  }

  mutating func renumber(_ numbers: [UInt32]) {
    order = order.filter { !isOver($0) }.map { (numbers[Int($0.row)], $0.number) }
    let renumbered = errors.map { (numbers[Int($0)], $1) }
    errors = Dictionary(uniqueKeysWithValues: renumbered)
  }

  /// One diagnostic for all errors, or `nil` if there is none.
  var diagnostic: SourceStatus.Diagnostic? {
    guard let last = order.last, let error = errors[last.row]?.error else { return nil }
    let count = errors.count == 1 ? "1 element" : "\(errors.count) elements"
    return SourceStatus.Diagnostic(
      code: "failed-transform",
      message: "\(count) could not be transformed. The latest error: \(error)")
  }
}

/// The tasks of an asynchronous operator. Releasing them cancels all that run.
final class TransformTasks<Input: Sendable, Output: Sendable>: @unchecked Sendable {
  // Sendable: the operator owns all properties that change, and only one thread at a time calls an operator. The tasks
  // use only `finished` and `updateTrigger`.

  /// The result of a job, which may have been canceled.
  struct JobResult: Sendable {
    let job: Int
    let outcome: Result<Output, any Error>
  }

  private let updateTrigger: UpdateTrigger
  private let limit: Int
  private let transform: @Sendable (Input) async throws -> Output
  /// The results that the operator has not taken.
  private let finished = Locked<[JobResult]>([])

  /// The jobs that were added and not started, in order. Some may have been canceled.
  private var waiting: [Int] = []
  /// The number of jobs at the beginning of `waiting` that were taken.
  private var takenCount = 0
  /// The tasks of the jobs that run and were not canceled.
  private var tasks: [Int: Task<Void, Never>] = [:]
  /// The inputs of the tasks that have not returned, including canceled ones.
  private var running: [Int: Input] = [:]

  init(
    _ updateTrigger: UpdateTrigger, limit: Int,
    transform: @escaping @Sendable (Input) async throws -> Output
  ) {
    self.updateTrigger = updateTrigger
    self.limit = limit
    self.transform = transform
  }

  deinit {
    for task in tasks.values { task.cancel() }
  }

  /// Adds a job after those that wait.
  func enqueue(_ job: Int) { waiting.append(job) }

  /// The number of jobs that run and were not canceled.
  var startedCount: Int { tasks.count }

  /// The input of the task that has run for the longest time, or `nil` if none is running.
  var oldest: Input? { running.min { $0.key < $1.key }?.value }

  /// Returns whether a job has been started, and was not canceled.
  func isRunning(_ job: Int) -> Bool { tasks[job] != nil }

  /// Takes the next job out, if another one may run.
  ///
  /// - Parameter isWanted: A closure that returns whether a job was not canceled.
  func takeWaiting(where isWanted: (Int) -> Bool) -> Int? {
    // Canceled jobs must not fill the memory while no other can start.
    if waiting.count - takenCount > 2 * wantedLimit {
      waiting = waiting.dropFirst(takenCount).filter(isWanted)
      takenCount = 0
      wantedLimit = max(64, waiting.count)
    }
    guard running.count < limit else { return nil }
    while takenCount < waiting.count {
      defer { takenCount += 1 }
      if isWanted(waiting[takenCount]) { return waiting[takenCount] }
    }
    (waiting, takenCount) = ([], 0)
    return nil
  }

  /// The number of jobs that waited when canceled ones were removed the last time.
  private var wantedLimit = 64

  func start(_ job: Int, _ input: Input) {
    running[job] = input
    let transform = transform
    tasks[job] = Task { [weak self] in
      let outcome: Result<Output, any Error>
      do {
        outcome = .success(try await transform(input))
      } catch {
        outcome = .failure(error)
      }
      self?.finish(JobResult(job: job, outcome: outcome))
    }
  }

  /// Cancels the task of a job, if it runs.
  func cancel(_ job: Int) { tasks.removeValue(forKey: job)?.cancel() }

  func takeResults() -> [JobResult] {
    let results = finished.withLock { finished in
      defer { finished = [] }
      return finished
    }
    for result in results { (tasks[result.job], running[result.job]) = (nil, nil) }
    return results
  }

  /// Stores a result. The first one that the operator has not taken wakes it.
  private func finish(_ result: JobResult) {
    let isFirst = finished.withLock { finished in
      finished.append(result)
      return finished.count == 1
    }
    if isFirst { updateTrigger.send() }
  }
}
