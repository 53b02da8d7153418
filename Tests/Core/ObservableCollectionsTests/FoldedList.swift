import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives

/// An array that follows the events of a collection, and checks each of them. It keeps neither events nor snapshots, so
/// the collection may edit its tree in place.
final class FoldedList<Element: Differentiable & Sendable & Equatable>: Sendable {
  private struct State: Sendable {
    var elements: [Element] = []
    var problem: String?
    var operations = Coverage.Operations()
  }

  private let state = Locked(State())
  private let observation = DisposeBag()

  init(_ source: some DataSource<Element>) {
    source.observe { [weak self] event in
      self?.state.withLock {
        Self.follow(event, &$0.elements, &$0.problem)
        if case .change(let change) = event { $0.operations.add(change.changeset) }
      }
    }.store(in: observation)
  }

  /// The elements after the latest event.
  var elements: [Element] { state.withLock { $0.elements } }
  /// The numbers of the operations of all changes.
  var operations: Coverage.Operations { state.withLock { $0.operations } }
  /// The first event that did not fit the elements before it, or `nil`.
  var problem: String? { state.withLock { $0.problem } }

  private static func follow(
    _ event: CollectionEvent<Element>, _ elements: inout [Element], _ problem: inout String?
  ) {
    guard case .change(let change) = event else {
      elements = Array(event.snapshot)
      return
    }
    let (before, after) = (change.before, change.after)
    let isOffsetRead = before.indices.allSatisfy { before[$0] == elements[$0] }
    let folded = change.changeset.applying(
      to: elements, inserted: change.inserted.map(\.element), updated: change.updated.map(\.new))
    if before.count != elements.count || !isOffsetRead || !before.elementsEqual(elements)
      || !after.elementsEqual(folded) || !after.indices.allSatisfy({ after[$0] == folded[$0] })
    {
      problem = problem ?? "\(change.changeset) from \(elements) to \(Array(after))"
    }
    elements = folded
  }
}
