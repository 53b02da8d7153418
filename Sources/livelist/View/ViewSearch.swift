import FileSources
import ObservableCollections

/// The search for rows that contain a text.
enum ViewSearch {
  struct Match: Sendable {
    let offset: Int
    let line: ViewLine.Identifier
    /// A Boolean value that indicates whether the search passed the end of the list.
    let isWrapped: Bool
  }

  /// Returns the next row that contains a text.
  ///
  /// The search continues at the other end of the list, and tests the start row last. It runs
  /// outside the main actor. If its task is canceled, it returns `nil`.
  @concurrent
  static func find(
    _ text: String, in contents: Snapshot<ViewLine>, from start: Int, isBackward: Bool
  ) async -> Match? {
    let count = contents.count
    let pattern = ViewPattern(text)
    for step in 1...max(1, count) where count > 0 {
      if step.isMultiple(of: 1000), Task.isCancelled { return nil }
      let offset = (start + (isBackward ? count - step : step)) % count
      guard let row = contents[offset].row else { continue }
      if pattern.matches(row.element) {
        let isWrapped = isBackward ? offset >= start : offset <= start
        return Match(
          offset: offset, line: contents[offset].differenceIdentifier,
          isWrapped: isWrapped && step < count)
      }
    }
    return nil
  }
}
