public import Diffing

/// What an operator does: it keeps its output in step with its input, change by change.
///
/// An operator is a value with whatever it must remember between two changes. The engine calls it from
/// one thread at a time, and takes care of order, revisions, status and delivery.
///
///     struct Reversed<Element: Differentiable & Sendable>: CollectionOperator { … }
///     let reversed = source.transformed(by: Reversed())
public protocol CollectionOperator<Input, Output>: Sendable {
  /// What the input holds.
  associatedtype Input: Differentiable & Sendable
  /// What the output holds.
  associatedtype Output: Differentiable & Sendable

  /// Makes the first output. Called once, before anything else.
  ///
  /// - Parameter input: The contents of the input.
  mutating func start(with input: Snapshot<Input>) -> [Output]

  /// Makes the next output.
  ///
  /// What is moved or updated in the input should be moved or updated in the output, and not be
  /// deleted and inserted; elements that did not change should not be computed anew.
  ///
  /// - Parameters:
  ///   - change: What became of the input.
  ///   - output: The output so far.
  /// - Returns: The new output and what differs; nil or an empty changeset where nothing does. Updates
  ///   may be named whose content is equal, and an identity may be both deleted and inserted: such are
  ///   found and put right.
  mutating func apply(
    _ change: CollectionChange<Input>, to output: Snapshot<Output>
  ) -> (output: [Output], changeset: Changeset)?
}

extension DataSource {
  /// Makes a live collection that follows this one by an operator.
  ///
  /// It shares this source's domain: a change here gives at most one event there, and both are
  /// computed before any observer is called.
  ///
  /// - Parameter collectionOperator: The operator, in its state before `start(with:)`.
  public func transformed<Operator: CollectionOperator>(
    by collectionOperator: Operator
  ) -> LiveCollection<Operator.Output> where Operator.Input == Element {
    start()
    return LiveCollection(
      OperatorNode([collection.node], UnaryKernel(wrapped: collectionOperator)), upstream: [self])
  }
}
