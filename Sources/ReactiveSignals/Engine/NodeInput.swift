/// A typed connection from a node to one that is derived from it.
///
/// While the derived node is live, an input shows what the present pass brings. While the derived node
/// joins, on its creator's thread, the input shows the updates that were recorded for it instead.
package protocol NodeInput: AnyObject, Sendable {
  /// The node upstream, which is in the domain of the derived node.
  var node: any GraphNode { get }
  /// The position among the node's children, or -1. The domain's lock guards it.
  var slot: Int { get set }

  /// Captures the published state as the first step, under the lock.
  func recordState()
  /// Records the update of the present pass as a step, under the lock.
  func recordUpdate()
  /// Takes the recorded steps out, under the lock.
  func takeRecorded()

  /// A Boolean value that indicates whether a step waits to be replayed.
  var hasStep: Bool { get }
  /// Shows the next step.
  ///
  /// - Parameter composing: Whether to compose all steps into one.
  func replayStep(composing: Bool)
  /// Shows the present pass from now on, under the lock.
  ///
  /// - Returns: Recorded values, to be released outside the lock.
  func endReplay() -> Any
}

/// The steps that are recorded for an input while its derived node joins.
package final class RecordedSteps<Step: Sendable>: @unchecked Sendable {
  // Sendable: the domain's lock guards `recorded`. The creator of the derived node owns the rest.

  private var recorded: [Step] = []
  private var steps: ArraySlice<Step> = []
  /// The step that is replayed at present. Owned like `steps`.
  package var current: Step?

  package init() {}

  package var hasStep: Bool { !steps.isEmpty }

  package func record(_ step: Step) { recorded.append(step) }

  package func takeRecorded() {
    if recorded.isEmpty { return }
    steps = recorded[...]
    recorded = []
  }

  /// Replays the next step.
  ///
  /// - Parameter compose: A closure that composes a step with the next one, if all are replayed as one.
  /// - Returns: Steps that were replayed before. Releasing them may call code that records a step here, so
  ///   the caller releases them after this call.
  package func next(composing compose: ((Step, Step) -> Step)?) -> Any {
    let replayed = (current, steps)
    guard let first = steps.popFirst() else {
      current = nil
      return replayed
    }
    if let compose {
      current = steps.reduce(first, compose)
      steps = []
    } else {
      current = first
      if steps.isEmpty { steps = [] }
    }
    return replayed
  }
}
