import ObservableCollections

/// The application of the user's filter and order to a list.
///
/// It runs outside the main actor, because it visits all rows.
@MainActor
final class ViewArranger {
  private let arrangement: ViewArrangement
  private var parameters = ViewArrangement.Parameters()
  /// A Boolean value that indicates whether the shown rows may have other parameters than the requested ones.
  private(set) var isArranging = false

  init(_ arrangement: ViewArrangement) {
    self.arrangement = arrangement
  }

  /// The order of the shown rows, or `nil` if they have the order of the source or are being arranged.
  var shownOrder: ViewOrder? { isArranging ? nil : parameters.order }

  /// Applies the requested parameters, and again if others are requested meanwhile.
  ///
  /// If a call is in progress, it applies the latest parameters, and this one has no effect.
  ///
  /// - Parameters:
  ///   - requested: A closure that returns the requested parameters.
  ///   - onChange: A closure to call each time that the shown rows have new parameters.
  ///   - onEnd: A closure to call when the shown rows have the requested parameters.
  func arrange(
    _ requested: @escaping @MainActor () -> ViewArrangement.Parameters,
    onChange: @escaping @MainActor () async -> Void, onEnd: @escaping @MainActor () -> Void
  ) {
    if isArranging { return }
    isArranging = true
    Task {
      while case let (old, new) = (parameters, requested()), old != new {
        parameters = new
        await Task.detached { [arrangement] in
          arrangement.change(from: old, to: new)
          await arrangement.lines.flush()
        }.value
        await onChange()
      }
      isArranging = false
      onEnd()
    }
  }
}
