public import Diffing

/// The way into the list of a data source, and its only writer.
///
/// A data source that receives its data keeps a writer, and publishes what arrives:
///
///     final class Departures: DataSource {
///       private let writer = SourceWriter<Departure>(of: Departures.self, location: "platform 1")
///       var collection: LiveCollection<Departure> { writer.collection }
///
///       func receive(_ departures: [Departure]) { writer.publish(.whole(departures)) }
///
///       func lose(_ connection: any Error) {
///         writer.show(.failed(SourceError(code: "unreachable", message: "\(connection)")))
///       }
///     }
///
/// A source that reads its data is a ``PolledSource`` and needs no writer.
///
/// The contents and the status change in one step. If several elements have one identity, a diagnostic of the status names
/// it. The location, the mode and the reads appear in explanations of the source.
///
/// All methods can be called from any thread. Calls are applied in their order.
public final class SourceWriter<Element: Differentiable & Sendable>: @unchecked Sendable {
  // Sendable: `identities` and `hasBegun` are accessed only inside an edit of `contents`, one thread at a time.

  /// The result of a read, relative to the last publication.
  public enum Contents: Sendable {
    /// Nothing has changed.
    case same
    /// All elements. The difference is computed by identity.
    case whole([Element])
    /// An exact change, with the elements of its insertions and updates in their order.
    case changed(Changeset, inserted: [Element], updated: [Element])
    /// Elements at the end. If `replacingLast` is true, the last element of the list goes first.
    case appended([Element], replacingLast: Bool = false)

    /// The number of elements that were read or changed.
    package var changeCount: Int {
      switch self {
      case .same: 0
      case .whole(let elements), .appended(let elements, _): elements.count
      case .changed(let changeset, _, _): changeset.changeCount
      }
    }
  }

  /// The list that is written.
  public var collection: LiveCollection<Element> { contents.collection }

  private let contents: ArrayDataSource<Element>
  private var identities = IdentityCounter<Element>()
  private var hasBegun = false

  /// Creates a writer whose list is empty.
  ///
  /// - Parameters:
  ///   - source: The type of the source, whose name appears in explanations.
  ///   - location: The place that the source reads, for people: a path, a query, an address without passwords.
  ///   - status: The status before the first publication.
  public init(
    of source: (some DataSource<Element>).Type, location: String? = nil,
    status: SourceStatus = .idle
  ) {
    contents = ArrayDataSource(status: status)
    collection.describe(as: source, location: location)
  }

  /// Sets how the source follows changes, for explanations.
  ///
  /// - Parameters:
  ///   - mode: The way in a word or two, for example `polling`.
  ///   - reason: Why this way is taken, as a sentence.
  public func setMode(_ mode: String, reason: String? = nil) {
    collection.describe(mode: mode, reason)
  }

  /// Shows that the source reads for the first time. When the method returns, this is shown.
  ///
  /// - Returns: `false` if another call did it.
  package func begin() -> Bool {
    var isFirst = false
    contents.edit { draft in
      isFirst = !hasBegun
      hasBegun = true
      if isFirst { setStatus(.loading, [], of: draft) }
    }
    return isFirst
  }

  /// Shows that the source reads, or that it cannot read. The contents stay.
  ///
  /// - Parameters:
  ///   - state: The state, for example `.loading` or `.failed(error)`.
  ///   - diagnostics: Remarks that replace those of the last call, or `nil` to keep them.
  public func show(
    _ state: SourceStatus.State, diagnostics: [SourceStatus.Diagnostic]? = nil
  ) {
    precondition(
      state != .loaded || collection.current.state.hasLoaded,
      "the source has published nothing, so it has not loaded: call publish(_:) instead of show(.loaded)"
    )
    contents.edit { draft in
      // An earlier edit of this transaction may have set a status. If the transaction fails, so do its diagnostics.
      let shown = draft.newStatus ?? collection.current.state.status
      let remarks =
        diagnostics
        ?? shown.diagnostics.filter { $0.code != IdentityCounter<Element>.diagnosticCode }
      identities.count(.same, from: draft.snapshot, to: draft.snapshot)
      setStatus(state, remarks, of: draft)
    }
  }

  /// Publishes the result of a read: the contents and the status in one step.
  ///
  /// An exact change must fit the contents of the last publication. Otherwise, the program stops, and the message has both
  /// lengths.
  ///
  /// - Parameters:
  ///   - new: The contents.
  ///   - state: The state after the read.
  ///   - diagnostics: Remarks on how the source works.
  ///   - start: The time at which the read began, or `nil` if explanations need not mention it.
  /// - Complexity: O(*k* log *n*) for an exact change of *k* elements, and O(*n*) for whole contents of which few elements
  ///   are out of order.
  public func publish(
    _ new: Contents, _ state: SourceStatus.State = .loaded,
    diagnostics: [SourceStatus.Diagnostic] = [], startedAt start: ContinuousClock.Instant? = nil
  ) {
    publish(
      new, state, diagnostics: diagnostics, startedAt: start, areIdentitiesUnique: false)
  }

  /// Publishes the result of a read.
  ///
  /// - Parameter areIdentitiesUnique: A Boolean value that indicates whether the source knows that no two elements have
  ///   one identity, so they need not be counted.
  package func publish(
    _ new: Contents, _ state: SourceStatus.State = .loaded,
    diagnostics: [SourceStatus.Diagnostic] = [], startedAt start: ContinuousClock.Instant? = nil,
    areIdentitiesUnique: Bool
  ) {
    if let start { record(new, startedAt: start) }
    contents.edit { draft in
      let old = draft.snapshot
      switch new {
      case .same: break
      case .whole(let elements): draft.replace(with: elements)
      case .changed(let changeset, let inserted, let updated):
        draft.apply(changeset, inserted: inserted, updated: updated)
      case .appended(let elements, let replacesLast):
        append(elements, replacingLast: replacesLast, to: draft)
      }
      if areIdentitiesUnique {
        identities = IdentityCounter()
      } else {
        identities.count(new, from: old, to: draft.snapshot)
      }
      draft.hasLoaded = true
      setStatus(state, diagnostics, of: draft)
    }
  }

  private func append(
    _ elements: [Element], replacingLast: Bool, to draft: CollectionDraft<Element>
  ) {
    guard replacingLast else { return draft.append(contentsOf: elements) }
    precondition(!draft.isEmpty, "there is no last element to replace, because the list is empty")
    let last = draft.count - 1
    if let first = elements.first,
      first.differenceIdentifier == draft[last].differenceIdentifier
    {
      draft[last] = first
      draft.append(contentsOf: elements.dropFirst())
    } else {
      draft.removeSubrange(last..<last + 1)
      draft.append(contentsOf: elements)
    }
  }

  private func setStatus(
    _ state: SourceStatus.State, _ diagnostics: [SourceStatus.Diagnostic],
    of draft: CollectionDraft<Element>
  ) {
    draft.newStatus = SourceStatus(
      state, diagnostics: [identities.diagnostic].compactMap(\.self) + diagnostics)
  }

  private func record(_ new: Contents, startedAt start: ContinuousClock.Instant) {
    let action: LiveGraph.Trace.Step.Action =
      collection.current.state.hasLoaded ? .reload : .load
    collection.record(action, startedAt: start, count: new.changeCount)
  }
}
