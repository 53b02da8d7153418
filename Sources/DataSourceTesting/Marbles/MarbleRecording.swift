import ReactiveSignals
import SwappablePrimitives

/// A recording of the values of a signal, tick by tick. Release it to stop recording.
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

  /// The recorded values, as a marble line without silence at its end.
  public var line: String { recorded.line.withLock { $0 }.description }

  /// Stops recording.
  public func dispose() {
    observation.dispose()
  }

  /// Compares the recorded values with a line.
  ///
  /// - Parameter expected: The expected line. Silence at its end is ignored.
  /// - Throws: A ``MarbleMismatch`` if the recorded line is different.
  public func check(_ expected: String) throws(MarbleMismatch) {
    let expected = MarbleLine(expected)
    let received = recorded.line.withLock { $0 }
    if received != expected {
      throw MarbleMismatch(expected: expected.description, received: received.description)
    }
  }
}
