public import Diffing
public import ObservableCollections
import Observation
public import ReactiveSignals
import SwappablePrimitives

/// A live list for a terminal.
///
/// It follows a data source, and calls a closure when it needs to be drawn.
///
/// ```swift
/// let screen = try TerminalScreen()
/// defer { screen.close() }
/// let list = TerminalListView(source, columns: columns) { list in
///   screen.show(list.frame(for: screen.size, status: TerminalLine("q quits")))
/// }
/// ```
///
/// The list is drawn at most `framesPerSecond` times a second. All changes between two frames are
/// merged into one change, and pending changes take no more memory than the contents. While nothing
/// changes, no code runs. After an input of the user, the caller draws the list.
///
/// A command and ``selectedElement`` do not wait for a frame: they first apply the changes that have
/// arrived. Therefore, a key acts on the rows that the key before it has filtered, unless another
/// thread is changing the list at that moment. While `draw` or ``onEvent`` runs, they apply no changes.
///
/// The closure may read other properties, lists and `@Observable` objects. When one of them changes,
/// the list is drawn again.
@MainActor
public final class TerminalListView<Element: Differentiable & Sendable> {
  /// The state of the list. Changes are applied before a frame, a command, or ``selectedElement``.
  public internal(set) var state: TerminalListState<Element>
  /// The status of the source.
  public private(set) var status: SourceStatus
  /// A closure that is called after each event, before the list is drawn.
  public var onEvent: (@MainActor (CollectionEvent<Element>) -> Void)?

  private let clock: AnyClock
  private var pacer: FramePacer?
  private var observations: [Disposable] = []
  /// A value that each frame reads. Its change ends the tracking of the latest frame.
  private let trackedFrame = TrackedContents()
  /// The number of frames that were drawn.
  private var frameNumber = 0

  /// Creates a list that follows a data source until you release the list.
  ///
  /// The list tracks what `draw` reads: the `value` of a property, the contents or the status of a
  /// data source, and the properties of an `@Observable` object. A change of one of them requests a
  /// frame, which is drawn after the frame interval at the latest. If another thread changes a value
  /// while `draw` runs, the change may be missed: it is then drawn with the next frame, which something
  /// else requests. To rule this out, call ``setNeedsDisplay()`` after such a change.
  ///
  /// - Parameters:
  ///   - source: The source of the elements.
  ///   - columns: The columns.
  ///   - markDuration: The time for which a changed row is marked. Zero disables marks.
  ///   - framesPerSecond: The maximum rate at which the list calls `draw`. It must be greater than
  ///     0.
  ///   - clock: The clock that times frames and marks.
  ///   - draw: A closure that draws the list. It is called on the main actor.
  public init(
    _ source: some DataSource<Element>, columns: [TerminalColumn<Element>],
    markDuration: Duration = .milliseconds(1500), framesPerSecond: Int = 30,
    clock: some Clock<Duration> = ContinuousClock(),
    draw: @escaping @MainActor (TerminalListView) -> Void
  ) {
    state = TerminalListState(columns: columns, markDuration: markDuration)
    status = source.collection.current.state.status
    self.clock = AnyClock(clock)
    let pacer = FramePacer(framesPerSecond: framesPerSecond, clock: self.clock) { [weak self] in
      guard let self else { return }
      expireMarks()
      tracking { draw(self) }
    }
    self.pacer = pacer
    let scheduler = DeliveryScheduler { [inbox = pacer.inbox, weak pacer] work in
      guard inbox.add(work) else { return }
      Task { @MainActor in
        inbox.taskBegins()
        // If the list was released meanwhile, the event is dropped.
        if let pacer { pacer.request() } else { _ = inbox.takeAll() }
      }
    }
    // The first event is delivered with a frame, too: by then, the screen size is known.
    let contents = source.observe(on: scheduler) { [weak self] event in
      MainActor.assumeIsolated { self?.apply(event) }
    }
    let statuses = source.observeStatus(on: scheduler) { [weak self] status in
      MainActor.assumeIsolated { self?.status = status }
    }
    observations = [contents, statuses]
  }

  deinit {
    trackedFrame.mutate {}
  }

  /// Returns the frame to show on the whole screen.
  ///
  /// - Parameters:
  ///   - size: The size of the screen.
  ///   - status: The last line. By default, it shows the ``position``.
  ///   - cursorColumn: The column of the cursor in the last line, or `nil` to hide the cursor.
  public func frame(
    for size: TerminalSize, status: TerminalLine? = nil, cursorColumn: Int? = nil
  ) -> TerminalFrame {
    state.resize(to: size)
    return state.frame(status: status, cursorColumn: cursorColumn)
  }

  /// Returns the headings and the rows, for a frame that contains other lines as well.
  ///
  /// ```swift
  /// let rest = TerminalSize(rows: screen.size.rows - above.count, columns: screen.size.columns)
  /// screen.show(TerminalFrame(size: screen.size, lines: above + list.lines(for: rest)))
  /// ```
  ///
  /// - Parameter part: The size of the part of the screen for the list.
  /// - Returns: One line for each row of the part.
  public func lines(for part: TerminalSize) -> [TerminalLine] {
    state.resize(to: part, hasStatus: false)
    return state.frame().lines
  }

  /// Performs the command of a key that moves in a list: an arrow, Page Up, Page Down, Home or End.
  ///
  /// This method does not draw the list.
  ///
  /// - Returns: A Boolean value that indicates whether the key moves in a list.
  @discardableResult
  public func press(_ key: TerminalKey) -> Bool {
    guard let command = TerminalListState<Element>.Command(key) else { return false }
    perform(command)
    return true
  }

  /// Performs the command of a key in an outline.
  ///
  /// Right expands a row or selects its first child, and Left collapses a row or selects its parent. The other keys move
  /// as they do in ``press(_:)``.
  ///
  /// ```swift
  /// case .key(let key): list.press(key, expanding: expansion)
  /// ```
  ///
  /// This method does not draw the list. If the key changes the expansion, the list is drawn when its source has changed.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - expansion: The expanded elements, which are a parameter of the list's source.
  /// - Returns: A Boolean value that indicates whether the key moves in an outline.
  @discardableResult
  public func press<Item>(
    _ key: TerminalKey, expanding expansion: Property<OutlineRow<Item>.Expansion>
  ) -> Bool where Element == OutlineRow<Item> {
    guard let command = TerminalListState<Element>.Command(key) else { return false }
    pacer?.performWork()
    if let (identifier, isExpanded) = state.performInOutline(command) {
      expansion.modify { $0[identifier] = isExpanded }
    }
    return true
  }

  /// Performs a command of the user. This method does not draw the list.
  public func perform(_ command: TerminalListState<Element>.Command) {
    pacer?.performWork()
    state.perform(command)
  }

  /// The element of the selected row, or `nil` if the list is empty.
  public var selectedElement: Element? {
    pacer?.performWork()
    return state.selectedElement
  }

  /// Selects a row and scrolls to it. From then on, the row stays on its line.
  ///
  /// This method does not draw the list.
  ///
  /// - Parameter offset: The offset of the row in the contents of the ``state``. An offset out of range
  ///   selects the first or last row.
  public func select(_ offset: Int) { state.select(offset) }

  /// A Boolean value that indicates whether the selected row stays on its line.
  ///
  /// It is `false` until a row is chosen, as ``TerminalListState/keepsSelectedRow`` describes. Set
  /// it for a policy of your own.
  public var keepsSelectedRow: Bool {
    get { state.keepsSelectedRow }
    set { state.keepsSelectedRow = newValue }
  }

  /// A Boolean value that indicates whether the first row stays visible if the selected row fits.
  ///
  /// See ``TerminalListState/staysAtTop``.
  public var staysAtTop: Bool {
    get { state.staysAtTop }
    set { state.staysAtTop = newValue }
  }

  /// The position in the list, as text for a status line: `row 12 of 345, 5 above, 320 below`.
  ///
  /// It counts with the rows of the latest frame or ``lines(for:)``.
  public var position: String { state.position }

  /// A closure that indicates whether a row has a star before it, or `nil` if there is no room for stars.
  package var hasStar: (@Sendable (Element) -> Bool)? {
    get { state.hasStar }
    set { state.hasStar = newValue }
  }

  /// Scrolls to the first of several columns, unless one of them is visible.
  package func reveal(anyColumnOf columns: [Int]) { state.reveal(anyColumnOf: columns) }

  /// The columns. A new value resets their widths.
  public var columns: [TerminalColumn<Element>] {
    get { state.columns }
    set { state.columns = newValue }
  }

  /// The time for which a changed row is marked. Zero disables marks.
  public var markDuration: Duration {
    get { state.markDuration }
    set { state.markDuration = newValue }
  }

  /// Requests a call of the `draw` closure as soon as the frame rate permits.
  public func setNeedsDisplay() { pacer?.request() }

  private func apply(_ event: CollectionEvent<Element>) {
    state.apply(event, at: clock.now.offset)
    onEvent?(event)
  }

  /// Draws a frame, and requests another one when a value that this frame reads has changed.
  private func tracking(_ draw: () -> Void) {
    frameNumber += 1
    let number = frameNumber
    // The framework tracks a value until it changes. Without this change, a value that stays the
    // same would be tracked once more for each frame.
    trackedFrame.mutate {}
    withObservationTracking {
      trackedFrame.access()
      draw()
    } onChange: { [weak self] in
      Task { @MainActor in
        // A later frame has read the new value.
        if let self, self.frameNumber == number { self.pacer?.requestLater() }
      }
    }
  }

  private func expireMarks() {
    state.expireMarks(at: clock.now.offset)
    if let end = state.nextMarkEnd { pacer?.request(at: end) }
  }
}

/// The work that the observations of a view add on any thread, with at most one closure for each.
final class FrameInbox: Sendable {
  typealias Work = @Sendable () -> Void

  private let state = Locked<(work: [Work], isAnnounced: Bool)>(([], false))

  /// Records that the task for the work runs. Work that is added later needs another one.
  func taskBegins() { state.withLock { $0.isAnnounced = false } }

  /// Adds work.
  ///
  /// - Returns: A Boolean value that indicates whether the caller must start a task for it.
  func add(_ work: @escaping Work) -> Bool {
    state.withLock { state in
      state.work.append(work)
      defer { state.isAnnounced = true }
      return !state.isAnnounced
    }
  }

  func takeAll() -> [Work] {
    state.withLock { state in
      defer { state.work = [] }
      return state.work
    }
  }
}

/// A limit on the rate at which a view is drawn.
///
/// The first request after a pause is performed immediately. Requests that arrive too early are
/// merged, and performed together after the frame interval. Without requests, no timer runs.
@MainActor
final class FramePacer {
  private let interval: Duration
  private let clock: AnyClock
  private let draw: @MainActor () -> Void
  /// The work to perform before the next drawing.
  let inbox = FrameInbox()
  /// A Boolean value that indicates whether work is being performed, or the view is being drawn.
  private var isBusy = false
  private var lastFrame: Duration?
  /// The scheduled drawing, and its time.
  private var scheduled: (task: Task<Void, Never>, due: Duration)?

  /// - Parameters:
  ///   - framesPerSecond: The maximum rate. It must be greater than 0.
  ///   - clock: The clock that times the frames.
  ///   - draw: A closure that draws the view.
  init(framesPerSecond: Int, clock: AnyClock, draw: @escaping @MainActor () -> Void) {
    precondition(
      framesPerSecond > 0, "framesPerSecond must be greater than 0, but is \(framesPerSecond)")
    interval = .seconds(1) / framesPerSecond
    self.clock = clock
    self.draw = draw
  }

  deinit {
    scheduled?.task.cancel()
  }

  /// Performs the work that has arrived, unless work is being performed or the view is being drawn.
  func performWork() {
    if isBusy { return }
    isBusy = true
    defer { isBusy = false }
    for work in inbox.takeAll() { work() }
  }

  /// Requests a drawing as soon as the rate permits.
  func request() {
    let now = clock.now.offset
    request(at: lastFrame.map { max(now, $0 + interval) } ?? now, now)
  }

  /// Requests a drawing at a time, or as soon after it as the rate permits.
  func request(at time: Duration) {
    let now = clock.now.offset
    request(at: max(now, time, lastFrame.map { $0 + interval } ?? now), now)
  }

  /// Requests a drawing after the frame interval.
  ///
  /// A list that has changed reports reads before it calls its observers, perhaps on another thread.
  /// Its event arrives during the interval, and both are drawn together.
  func requestLater() {
    request(at: clock.now.offset + interval)
  }

  private func request(at due: Duration, _ now: Duration) {
    if let scheduled {
      guard due < scheduled.due else { return }
      scheduled.task.cancel()
    }
    // Draw in a task even if the drawing is due: the caller may be inside another drawing.
    let task = Task { [clock, weak self] in
      // A canceled sleep returns at once.
      if due > now { try? await clock.sleep(until: AnyClock.Instant(offset: due), tolerance: nil) }
      guard !Task.isCancelled else { return }
      self?.fire()
    }
    scheduled = (task, due)
  }

  private func fire() {
    scheduled = nil
    lastFrame = clock.now.offset
    performWork()
    isBusy = true
    defer { isBusy = false }
    draw()
  }
}
