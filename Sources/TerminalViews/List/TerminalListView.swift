public import Diffing
public import ObservableCollections
import ReactiveSignals
import SwappablePrimitives

/// A live list for a terminal: shows a data source, and asks to be drawn when that is due.
///
/// ```swift
/// let screen = try TerminalScreen()
/// defer { screen.close() }
/// let list = TerminalListView(source, columns: columns) { list in
///   screen.show(list.frame(for: screen.size, status: TerminalLine("q quits")))
/// }
/// ```
///
/// However fast the source changes, it is drawn at most so many times a second, each time with all that
/// has changed since as one change; what waits meanwhile takes no more memory than the contents do. While
/// nothing changes, nothing is done. What a user does is drawn by the caller, at once.
@MainActor
public final class TerminalListView<Element: Differentiable & Sendable> {
  /// The list as a value.
  public private(set) var state: TerminalListState<Element>
  /// How the source is doing.
  public private(set) var status: SourceStatus
  /// How many events of the source were shown.
  public private(set) var eventCount = 0
  /// Called after each event of the source, before the list is drawn.
  public var onEvent: (@MainActor (CollectionEvent<Element>) -> Void)?

  private let clock: AnyClock
  private var pacer: FramePacer?
  private var observations: [Disposable] = []

  /// Creates a list that shows a data source until it is let go of.
  ///
  /// - Parameters:
  ///   - source: What is shown.
  ///   - columns: What is shown of each element.
  ///   - markDuration: How long a changed row stays marked; zero for no marks.
  ///   - framesPerSecond: How often the list asks to be drawn at most because the source has changed.
  ///   - clock: Tells the time of frames and marks.
  ///   - draw: Called on the main actor, when the list should be drawn.
  public init(
    _ source: some DataSource<Element>, columns: [TerminalColumn<Element>],
    markDuration: Duration = .milliseconds(1500), framesPerSecond: Int = 30,
    clock: some Clock<Duration> = ContinuousClock(),
    draw: @escaping @MainActor (TerminalListView) -> Void
  ) {
    state = TerminalListState(columns: columns, markDuration: markDuration)
    status = source.collection.node.current.status
    self.clock = AnyClock(clock)
    let pacer = FramePacer(framesPerSecond: framesPerSecond, clock: self.clock) { [weak self] in
      guard let self else { return }
      expireMarks()
      draw(self)
    }
    self.pacer = pacer
    let later: @Sendable (@escaping @Sendable () -> Void) -> Void = { [weak pacer] work in
      // What cannot be drawn any more has nobody to be told.
      Task { @MainActor in pacer?.request(work) }
    }
    // The first event counts as the others do: by then the screen's size is known.
    let contents = source.observe(on: Scheduler(later)) { [weak self] event in
      MainActor.assumeIsolated { self?.take(event) }
    }
    // The newest that the list has not taken in.
    let due = Locked<SourceStatus?>(nil)
    let statuses = source.observeStatus { [weak self] status in
      let isFirst = due.withLock { due in
        defer { due = status }
        return due == nil
      }
      guard isFirst else { return }
      later {
        let status = due.withLock { due in
          defer { due = nil }
          return due
        }
        MainActor.assumeIsolated { if let status { self?.status = status } }
      }
    }
    observations = [contents, statuses]
  }

  /// What the screen should show.
  ///
  /// - Parameters:
  ///   - size: The size of the screen.
  ///   - status: The last line.
  ///   - cursorColumn: Where in the last line the cursor stands; nil where it is hidden.
  public func frame(
    for size: TerminalSize, status: TerminalLine = TerminalLine(), cursorColumn: Int? = nil
  ) -> TerminalFrame {
    state.resize(to: size)
    return state.frame(status: status, cursorColumn: cursorColumn)
  }

  /// The headings and the rows alone, for a frame that holds other lines as well.
  ///
  /// ```swift
  /// let rest = TerminalSize(rows: screen.size.rows - above.count, columns: screen.size.columns)
  /// screen.show(TerminalFrame(size: screen.size, lines: above + list.lines(for: rest)))
  /// ```
  ///
  /// - Parameter part: The size of the part of the screen that the list takes.
  /// - Returns: As many lines as the part has rows.
  public func lines(for part: TerminalSize) -> [TerminalLine] {
    state.resize(to: part, hasStatus: false)
    return state.frame().lines
  }

  /// Does what a key asks for that moves in a list: an arrow, page up or down, home or end.
  ///
  /// The caller draws the list.
  ///
  /// - Returns: Whether it was such a key.
  @discardableResult
  public func press(_ key: TerminalKey) -> Bool {
    guard let command = TerminalListState<Element>.Command(key) else { return false }
    state.perform(command)
    return true
  }

  /// Does what a user asks for; the caller draws the list.
  public func perform(_ command: TerminalListState<Element>.Command) { state.perform(command) }

  /// Selects a row and brings it into sight; the caller draws the list.
  ///
  /// - Parameter offset: The row; the first or last one where there is none.
  public func select(_ offset: Int) { state.select(offset) }

  /// What is shown of each element.
  public var columns: [TerminalColumn<Element>] {
    get { state.columns }
    set { state.columns = newValue }
  }

  /// How long a changed row stays marked; zero for no marks.
  public var markDuration: Duration {
    get { state.markDuration }
    set { state.markDuration = newValue }
  }

  /// Asks to be drawn, as soon as the frame rate allows.
  public func setNeedsDisplay() { pacer?.request() }

  private func take(_ event: CollectionEvent<Element>) {
    eventCount += 1
    state.apply(event, at: clock.now.offset)
    onEvent?(event)
  }

  private func expireMarks() {
    state.expireMarks(at: clock.now.offset)
    if let end = state.nextMarkEnd { pacer?.request(at: end) }
  }
}
