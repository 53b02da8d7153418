import ReactiveSignals
import SwappablePrimitives

extension DataSource {
  /// Returns the steps of the work of everything upstream as an asynchronous sequence.
  ///
  ///     for await step in rows.trace() { print(step) }
  ///
  /// Each iteration is a trace of its own. It begins with `makeAsyncIterator()`, and ends if the task is canceled, or if
  /// the iterator is released. It keeps this source alive, and starts no source. If the body of the loop is busy, the
  /// latest 1,000 steps are kept.
  public func trace() -> LiveGraph.Trace {
    LiveGraph.Trace(node: collection.node, source: self)
  }
}

extension LiveGraph {
  /// The steps of the work of a live list and of everything upstream of it.
  ///
  /// ``DataSource/trace()`` creates a trace.
  public struct Trace: AsyncSequence, Sendable {
    /// The maximum number of steps that wait for the body of the loop.
    static let limit = 1_000

    fileprivate let node: ReactiveSignals.Node
    fileprivate let source: any AnyObject & Sendable

    public func makeAsyncIterator() -> Iterator { Iterator(node, source) }

    /// One iteration. Only one copy of it may be used.
    public struct Iterator: AsyncIteratorProtocol {
      private let inbox: Inbox<Batch>
      private let measurement: Disposable
      private var batch = Batch()

      fileprivate init(_ node: ReactiveSignals.Node, _ source: any AnyObject & Sendable) {
        let inbox = Inbox<Batch>(.coalesce)
        let measurement = Measurement(upTo: node) { inbox.post(Batch($0)) }
        self.inbox = inbox
        self.measurement = Disposable {
          measurement.end()
          withExtendedLifetime(source) {}
        }
      }

      /// Waits for the next step. Returns `nil` if the task is canceled.
      public mutating func next() async -> Step? {
        await next(isolation: nil)
      }

      /// Waits for the next step. Returns `nil` if the task is canceled.
      public mutating func next(isolation actor: isolated (any Actor)?) async -> Step? {
        while true {
          if let step = batch.popFirst() { return step }
          guard let next = await inbox.next() else {
            measurement.dispose()
            return nil
          }
          batch = next
        }
      }
    }

    /// Steps that wait for the body of the loop.
    fileprivate struct Batch: Mergeable {
      private var steps: ArraySlice<WorkStep> = []
      private var dropped = 0

      init() {}

      init(_ step: WorkStep) { steps = [step] }

      /// Adds later steps, and drops the oldest ones.
      mutating func merge(with later: Batch) {
        steps += later.steps
        while steps.count > Trace.limit {
          steps.removeFirst()
          dropped += 1
        }
      }

      mutating func popFirst() -> Step? {
        defer { dropped = 0 }
        return steps.popFirst().map { Step($0, dropped: dropped) }
      }
    }
  }
}

extension LiveGraph.Trace {
  /// A step of the work of a node.
  public struct Step: Sendable {
    /// The kind of step.
    public enum Action: String, Sendable, Hashable {
      /// A source or a property has changed.
      case commit
      /// A change was propagated to everything that is derived from it, and observers were called.
      case pass
      /// A container shows another source.
      case swap
      /// A source has read for the first time.
      case load
      /// A source has read again.
      case reload
    }

    /// The kind of step.
    public let action: Action
    /// The kind of the node, as in an explanation. For a pass, it is the node that has taken the most time.
    public let kind: String
    /// The name of the node, or `nil` if it has none.
    public let label: String?
    /// The number of elements that were read or changed. For a pass, it is the number of nodes that have changed.
    public let count: Int
    /// The number of nodes that a pass has computed.
    public let nodeCount: Int
    /// The duration of the step, which is zero for a commit.
    ///
    /// It excludes the passes that follow in lists of other domains.
    public let duration: Duration
    /// In a pass, the time of the node that has taken the most time, or of its observers.
    public let longest: Duration
    /// A Boolean value that indicates whether ``longest`` is the time of the observers of the node.
    public let isObserving: Bool
    /// The number of steps before this one that were dropped, because the body of the loop was busy.
    public let droppedCount: Int
  }
}

extension LiveGraph.Trace.Step {
  fileprivate init(_ step: WorkStep, dropped: Int) {
    action = Action(rawValue: step.action.rawValue) ?? .commit
    (kind, label) = (step.name.kind, step.name.label)
    (count, nodeCount) = (step.changes, step.nodes)
    (duration, longest) = (.nanoseconds(step.time), .nanoseconds(step.longest))
    (isObserving, droppedCount) = (step.isObserving, dropped)
  }
}

extension LiveGraph.Trace.Step: CustomStringConvertible {
  /// The step on one line.
  public var description: String {
    let name = label.map { "\(kind) \"\($0)\"" } ?? kind
    let elements = count.counted("element", "elements")
    let text =
      switch action {
      case .commit: "commit \(name): \(count == 0 ? "status" : elements)"
      case .pass:
        "pass: \(nodeCount.counted("node", "nodes")), \(count) changed, \(duration.text); the most in "
          + "\(isObserving ? "observers of " : "")\(name): \(longest.text)"
      case .swap, .load, .reload:
        "\(action.rawValue) \(name): \(elements), \(duration.text)"
      }
    return droppedCount == 0 ? text : "\(text) (\(droppedCount) earlier steps were dropped)"
  }
}

// A source calls these methods. Explanations and traces show what it reports.
extension LiveCollection {
  /// Sets the type of the source that feeds the collection, and the place from which it reads.
  package func describe(as source: Any.Type, location: String? = nil) {
    node.describe(as: source)
    if let location { node.note { $0.location = location } }
  }

  /// Sets the way in which the source follows changes, and the reason for it.
  func describe(mode: String, _ reason: String?) {
    node.note { ($0.mode, $0.reason) = (mode, reason) }
  }

  /// Records a read of the source, which ends now.
  package func record(
    _ action: LiveGraph.Trace.Step.Action, startedAt start: ContinuousClock.Instant, count: Int
  ) {
    guard let action = WorkStep.Action(rawValue: action.rawValue) else { return }
    let (seconds, attoseconds) = start.duration(to: .now).components
    let nanoseconds =
      UInt64(max(seconds, 0)) * 1_000_000_000 + UInt64(max(attoseconds, 0) / 1_000_000_000)
    node.record(action, since: Meter.now - min(nanoseconds, Meter.now), changes: count)
  }

  /// Records the last error of the source.
  @usableFromInline
  func record(_ error: SourceError) {
    node.note { $0.fault = error.message }
  }
}
