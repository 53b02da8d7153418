import FileSources
import ObservableCollections

/// Finds rows by some text.
enum ViewSearch {
  struct Match: Sendable {
    let offset: Int
    let element: JSONElement
    /// Whether it stands on the other side of where the search began.
    let isWrapped: Bool
  }

  /// The next row that holds a text, round the list; the row that the search begins at comes last.
  ///
  /// It runs off the main actor, and ends without a match when its task is cancelled.
  @concurrent
  static func find(
    _ text: String, in contents: Snapshot<JSONElement>, from start: Int, isBackward: Bool
  ) async -> Match? {
    let count = contents.count
    let needle = ViewNeedle(text)
    for step in 1...max(1, count) where count > 0 {
      if step.isMultiple(of: 1000), Task.isCancelled { return nil }
      let offset = (start + (isBackward ? count - step : step)) % count
      let element = contents[offset]
      if needle.occurs(in: element) {
        let isWrapped = isBackward ? offset >= start : offset <= start
        return Match(offset: offset, element: element, isWrapped: isWrapped && step < count)
      }
    }
    return nil
  }
}
