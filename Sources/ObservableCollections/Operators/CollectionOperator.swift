public import Diffing

/// An operator, which edits its output whenever its inputs change.
///
/// An operator stores its inputs and the state that it needs between two changes. The engine calls
/// it from one thread at a time, and takes care of order, revisions, status and delivery.
///
///     struct RunningTotal: CollectionOperator {
///       let amounts: CollectionInput<Amount>
///       mutating func start(_ output: CollectionDraft<Total>) { … }
///       mutating func update(_ output: CollectionDraft<Total>) { … }
///     }
///     let totals = LiveCollection { inputs in RunningTotal(amounts: inputs.collection(amounts)) }
///
/// An element that is moved or updated in an input should be moved or updated in the output, rather than
/// deleted and inserted. The draft finds an element that is removed at one place and inserted at another,
/// and reports it as moved. Elements that did not change should not be computed again.
public protocol CollectionOperator<Output>: Sendable {
  /// The type of the elements of the output.
  associatedtype Output: Differentiable & Sendable

  /// Fills the output for the first time. This is called once, before anything else.
  ///
  /// - Parameter output: The output, which is empty.
  mutating func start(_ output: CollectionDraft<Output>)

  /// Edits the output after at least one input has changed.
  ///
  /// - Parameter output: The output as the previous call left it.
  mutating func update(_ output: CollectionDraft<Output>)
}

extension DataSource {
  /// Derives a collection from this one.
  ///
  ///     let reversed = source.transformed { Reversed(input: $0) }
  ///
  /// A change of this source causes at most one event of the derived collection. Both collections
  /// are up to date before any observer is called.
  ///
  /// - Parameter makeOperator: A closure that creates the operator.
  public func transformed<Operator: CollectionOperator>(
    by makeOperator: (CollectionInput<Element>) -> Operator
  ) -> LiveCollection<Operator.Output> {
    LiveCollection { makeOperator($0.collection(self)) }
  }
}
