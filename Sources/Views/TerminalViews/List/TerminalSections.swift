public import ObservableCollections

extension TerminalColumn {
  /// Creates the column of a list with sections that shows the elements in another column.
  ///
  /// ```swift
  /// let columns = [TerminalColumn<Customer>("Name") { $0.name }]
  /// list.columns = columns.map { TerminalColumn($0) }
  /// ```
  ///
  /// - Parameter column: A column of the elements.
  public init<Key, Item>(_ column: TerminalColumn<Item>)
  where Element == ListSection<Key, Item>.Row {
    self.init(
      column.title, alignment: column.alignment, maximumWidth: column.maximumWidth,
      isPinned: column.isPinned,
      style: { row in if case .element(let item) = row { column.style(item) } else { .plain } },
      text: { row in if case .element(let item) = row { column.text(item) } else { "" } })
  }
}

extension TerminalListState {
  /// Creates an empty list with sections.
  ///
  /// Headers take the whole line, in bold. They are rows like all others: they can be selected, and are marked if the
  /// number of their elements changes.
  ///
  /// - Parameters:
  ///   - columns: The columns of the elements.
  ///   - markDuration: The time for which a changed row is marked. Zero disables marks.
  ///   - header: A closure that returns the text of a header from the key and the number of elements. It is called for
  ///     the visible headers.
  public init<Key, Item>(
    columns: [TerminalColumn<Item>], markDuration: Duration = .milliseconds(1500),
    header: @escaping @Sendable (_ key: Key, _ count: Int) -> String
  ) where Element == ListSection<Key, Item>.Row {
    self.init(columns: columns.map { TerminalColumn($0) }, markDuration: markDuration)
    self.header = { row in
      if case .header(let key, let count) = row { header(key, count) } else { nil }
    }
  }
}

extension TerminalListView {
  /// Creates a list that follows sections until you release the list.
  ///
  /// ```swift
  /// let rows = customers.sections(by: \.country).rows()
  /// let list = TerminalListView(rows, columns: columns, header: { "\($0) (\($1))" }) { list in
  ///   screen.show(list.frame(for: screen.size))
  /// }
  /// ```
  ///
  /// Headers take the whole line, in bold.
  ///
  /// - Parameters:
  ///   - rows: The source of the rows.
  ///   - columns: The columns of the elements.
  ///   - header: A closure that returns the text of a header from the key and the number of elements. It is called for
  ///     the visible headers.
  ///   - markDuration: The time for which a changed row is marked. Zero disables marks.
  ///   - framesPerSecond: The maximum rate at which the list calls `draw`. It must be greater than 0.
  ///   - clock: The clock that times frames and marks.
  ///   - draw: A closure that draws the list. It is called on the main actor.
  public convenience init<Key, Item>(
    _ rows: some DataSource<Element>, columns: [TerminalColumn<Item>],
    header: @escaping @Sendable (_ key: Key, _ count: Int) -> String,
    markDuration: Duration = .milliseconds(1500), framesPerSecond: Int = 30,
    clock: some Clock<Duration> = ContinuousClock(),
    draw: @escaping @MainActor (TerminalListView) -> Void
  ) where Element == ListSection<Key, Item>.Row {
    self.init(rows, columns: [], framesPerSecond: framesPerSecond, clock: clock, draw: draw)
    // The first event is delivered later, with a frame.
    state = TerminalListState(columns: columns, markDuration: markDuration, header: header)
  }
}
