import ReactiveSignals
import SwappablePrimitives

/// What a signal has brought, tick by tick; letting it go ends the recording.
public final class MarbleRecording: Sendable {
  private let recorded: Recorded
  private let observation: Disposable

  private final class Recorded: Sendable {
    let line = Locked(MarbleLine())
  }

  init(
    _ observe: (_ add: @escaping @Sendable (MarbleLine.Marble, Int) -> Void) -> Disposable
  ) {
    let recorded = Recorded()
    self.recorded = recorded
    observation = observe { marble, tick in recorded.line.withLock { $0.add(marble, at: tick) } }
  }

  /// What has come, as a marble line without silence at its end.
  public var line: String { recorded.line.withLock { $0 }.description }

  /// Stops recording.
  public func dispose() {
    observation.dispose()
  }

  /// Compares what has come with a line.
  ///
  /// - Parameter expected: What was to come; silence at its end means nothing.
  /// - Throws: ``MarbleMismatch`` where something else has come.
  public func check(_ expected: String) throws(MarbleMismatch) {
    let expected = MarbleLine(expected)
    let received = recorded.line.withLock { $0 }
    if received != expected {
      throw MarbleMismatch(expected: expected.description, received: received.description)
    }
  }
}
