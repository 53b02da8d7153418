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
  func replayStep()
  /// Shows the present pass from now on, under the lock.
  ///
  /// - Returns: Recorded values, to be released outside the lock.
  func endReplay() -> Any
}

/// The steps that are recorded for an input while its derived node joins.
///
/// A class, because one thread records a step while another one replays the steps before it.
package final class RecordedSteps<Step: Sendable>: @unchecked Sendable {
  // Sendable: see each property.

  /// Guarded by the domain's lock.
  private var recorded: [Step] = []
  /// Owned by the creator of the derived node.
  private var steps: ArraySlice<Step> = []
  /// The step that is replayed at present. Owned like `steps`.
  package private(set) var current: Step?
  /// A Boolean value that indicates whether the derived node is still joining. Its creator owns this, and
  /// the delivering thread from the moment when the node is live.
  package private(set) var isReplaying = true

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
  /// - Returns: Steps that were replayed before. Releasing them may call code that records a step here, so
  ///   the caller releases them after this call.
  package func next() -> Any {
    let replayed = (current, steps)
    current = steps.popFirst()
    if steps.isEmpty { steps = [] }
    return replayed
  }

  /// Ends the replay, under the lock.
  ///
  /// - Returns: Steps to be released outside the lock.
  package func end() -> Any {
    isReplaying = false
    defer { (steps, current) = ([], nil) }
    return (steps, current)
  }
}
