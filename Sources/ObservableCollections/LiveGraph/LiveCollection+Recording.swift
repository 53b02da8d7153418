import ReactiveSignals

// A source calls these methods. Explanations and traces show what it reports.
extension LiveCollection {
  /// Sets the type of the source that feeds the collection, and the place from which it reads.
  package func describe(as source: Any.Type, location: String? = nil) {
    node.describe(as: source)
    if let location { node.note { $0.location = location } }
  }

  /// Sets the way in which the source follows changes, and the reason for it.
  package func describe(mode: String, _ reason: String?) {
    node.note { ($0.mode, $0.reason) = (mode, reason) }
  }

  /// Records a read of the source, which has begun at a time of ``recordingTime`` and ends now.
  package func record(
    _ action: LiveGraph.Trace.Step.Action, since start: UInt64, count: Int
  ) {
    guard let action = WorkStep.Action(rawValue: action.rawValue) else { return }
    node.record(action, since: start, changes: count)
  }

  /// The time of the clock that measures the work.
  package static var recordingTime: UInt64 { Meter.now }

  /// Records the last error of the source.
  @usableFromInline
  func record(_ error: SourceError) {
    node.note { $0.fault = error.message }
  }
}
