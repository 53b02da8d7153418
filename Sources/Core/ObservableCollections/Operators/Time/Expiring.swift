public import Diffing
public import SwappablePrimitives

extension DataSource {
  /// Derives a collection of the elements that were inserted less than a duration ago.
  ///
  ///     let recent = messages.expiring(after: .seconds(60))
  ///
  /// | in | out |
  /// |---|---|
  /// | insert | insert, and a delete when the time is over |
  /// | delete | delete, or nothing if the element has expired |
  /// | update | update, or nothing if the element has expired |
  /// | move | move, or nothing if the element has expired or passes no other element of the output |
  /// | the time of elements is over | delete of all of them, as one change |
  ///
  /// The time of an element begins when it is inserted. For the elements that are there at first, it begins when this
  /// method is called. A move never renews it, and an update does so only if you ask for it. An expired element comes back
  /// only if it is deleted from the source and inserted again, in two changes. An update that sets another identity counts
  /// as both.
  ///
  /// If each element had the time of its insertion, the contents would equal
  /// `elements.filter { now < $0.time + duration }`.
  ///
  /// - Parameters:
  ///   - duration: The time that an element is shown. With a duration of zero or less, no element is ever shown.
  ///   - renewsOnUpdate: A Boolean value that indicates whether an update begins the time of an element again, unless it
  ///     has expired.
  ///   - clock: The clock that measures the time. There is one timer for all elements.
  /// - Complexity: O(k log n) for a change of k of n elements, or for k elements that expire.
  @inlinable
  public func expiring(
    after duration: Duration, renewsOnUpdate: Bool = false,
    clock: any Clock<Duration> = ContinuousClock()
  ) -> LiveCollection<Element> {
    expiring(renewsOnUpdate: renewsOnUpdate, clock: clock) { _ in duration }
  }

  /// Derives a collection of the elements whose time is not over. Each element has a time of its own.
  ///
  ///     let shown = notices.expiring { $0.isError ? nil : .seconds(10) }
  ///
  /// Changes are followed like in ``expiring(after:renewsOnUpdate:clock:)``.
  ///
  /// - Parameters:
  ///   - renewsOnUpdate: A Boolean value that indicates whether an update begins the time of an element again, unless it
  ///     has expired.
  ///   - clock: The clock that measures the time. There is one timer for all elements.
  ///   - timeToLive: A closure that returns how long an element is shown, or `nil` if it is shown as long as it is in the
  ///     source. It is called once for each inserted element, and for each updated one whose time begins again.
  /// - Complexity: O(k log n) for a change of k of n elements, or for k elements that expire.
  @inlinable
  public func expiring(
    renewsOnUpdate: Bool = false, clock: any Clock<Duration> = ContinuousClock(),
    _ timeToLive: @escaping @Sendable (Element) -> Duration?
  ) -> LiveCollection<Element> {
    LiveCollection<MarkedElement<Element>> { inputs in
      let input = inputs.collection(self)
      return ExpiryOperator(
        input: input, alarm: inputs.alarm(clock), renewsOnUpdate: renewsOnUpdate,
        timeToLive: timeToLive)
    }.shownElements()
  }
}

/// An operator that marks all elements of its input as shown, until their time is over.
@usableFromInline
struct ExpiryOperator<Element: Differentiable & Sendable>: ~Copyable, CollectionOperator {
  @usableFromInline let input: CollectionInput<Element>
  @usableFromInline let alarm: Alarm
  @usableFromInline let renewsOnUpdate: Bool
  @usableFromInline let timeToLive: @Sendable (Element) -> Duration?
  /// The elements, each with its deadline.
  @usableFromInline var rows = InputRows<Duration>()
  /// The rows that have not expired, by deadline.
  @usableFromInline var shown = RowTree()

  @inlinable
  init(
    input: CollectionInput<Element>, alarm: Alarm, renewsOnUpdate: Bool,
    timeToLive: @escaping @Sendable (Element) -> Duration?
  ) {
    self.input = input
    self.alarm = alarm
    self.renewsOnUpdate = renewsOnUpdate
    self.timeToLive = timeToLive
  }

  @inlinable
  mutating func start(_ output: CollectionDraft<MarkedElement<Element>>) {
    let (now, elements) = (alarm.now, input.snapshot.array)
    rows = InputRows(elements.map { alarm.deadline(after: timeToLive($0), from: now) })
    shown = RowTree(inOrderOfDeadlines(Array(0..<UInt32(elements.count))))
    output.append(contentsOf: elements.map { MarkedElement($0, isShown: true) })
    expire(until: now, output)
  }

  @inlinable
  mutating func update(_ output: CollectionDraft<MarkedElement<Element>>) {
    let now = alarm.now
    expire(until: now, output)
    if let change = input.change {
      follow(change, now, output)
      expire(until: now, output)
      if let numbers = rows.renumberIfSparse() {
        shown = RowTree(shown.rows.map { numbers[Int($0)] })
      }
    }
  }

  @inlinable
  func inOrderOfDeadlines(_ rows: [UInt32]) -> [UInt32] {
    rows.sorted { self.rows[$0] < self.rows[$1] }
  }

  @inlinable
  mutating func follow(
    _ change: CollectionChange<Element>, _ now: Duration,
    _ output: CollectionDraft<MarkedElement<Element>>
  ) {
    let (changeset, before, after) = (change.changeset, change.before, change.after)
    let (alarm, timeToLive) = (alarm, timeToLive)
    let isLarge = changeset.isLarge(forCount: rows.count)
    for offset in changeset.deletions {
      let row = rows.order[offset]
      if shown.contains(row) { shown.remove(row) }
    }
    rows.follow(changeset) { alarm.deadline(after: timeToLive(after[$0]), from: now) }
    var placed = changeset.insertions.map { rows.order[$0] }
    for update in changeset.updates {
      let row = rows.order[update.to]
      let isOther = !before[update.from].hasSameIdentity(as: after[update.to])
      guard isOther || renewsOnUpdate && shown.contains(row) else { continue }
      if shown.contains(row) { shown.remove(row) }
      rows[row] = alarm.deadline(after: timeToLive(after[update.to]), from: now)
      placed.append(row)
    }
    if isLarge {
      shown = RowTree(inOrderOfDeadlines(Array(shown.rows) + placed))
    } else {
      for row in placed { place(row) }
    }
    output.apply(valid: changeset) { offset in
      MarkedElement(after[offset], isShown: shown.contains(rows.order[offset]))
    }
  }

  @inlinable
  mutating func place(_ row: UInt32) {
    let deadline = rows[row]
    shown.insert(row, at: shown.place { rows[$0] > deadline })
  }

  /// Hides the elements whose deadline has come, and sets the alarm for the next one.
  @inlinable
  mutating func expire(until now: Duration, _ output: CollectionDraft<MarkedElement<Element>>) {
    let count = shown.partitioningOffset { rows[$0] > now }
    if count > 0 {
      let due = shown.rows.prefix(count)
      let offsets =
        count > max(4, rows.count / 32)
        ? rows.order.rows.enumerated().filter { shown.contains($1) && rows[$1] <= now }
          .map(\.offset)
        : due.map { rows.order.offset(of: $0) }.sorted()
      if count > shown.count / 32 {
        shown = RowTree(Array(shown.rows.dropFirst(count)))
      } else {
        for _ in 0..<count { shown.remove(at: 0) }
      }
      output.apply(valid: Changeset(updates: offsets.map { .init(from: $0, to: $0) })) { offset in
        MarkedElement(output[offset].element, isShown: false)
      }
    }
    if shown.count > 0 { alarm.ring(at: rows[shown[0]]) }
  }
}
