public import ReactiveSignals
import SwappablePrimitives

/// A player of signals that are written as text, which compares their results with text.
///
///     let marbles = Marbles()
///     let letters = marbles.input("-a-b-|")
///     try marbles.check(letters.map { $0.uppercased() }, "-A-B-|")
///
/// Each character of a line is a tick of a ``ManualClock``:
///
/// | text | what happens at the tick |
/// |---|---|
/// | `-` | nothing |
/// | `a`, or any other character | a value of that name |
/// | `[ab]` | a value whose name has several characters |
/// | `\|` | the end |
/// | `(a[bc]\|)` | several of these, one after the other |
///
/// Blanks are ignored, except in a name. At each tick, timed operators act before the inputs send
/// their values. Everything happens on the thread that plays, so a test has the same result each
/// time.
public final class Marbles: Sendable {
  /// The clock of the operators under test.
  public let clock = ManualClock()
  /// The time between two ticks.
  public let tick: Duration
  private let inputs = Locked<[(input: SignalInput<String>, line: MarbleLine)]>([])

  /// Creates a player without inputs.
  ///
  /// - Parameter tick: The time between two ticks, which must be positive.
  public init(tick: Duration = .seconds(1)) {
    precondition(tick > .zero, "tick must be greater than zero, but is \(tick)")
    self.tick = tick
  }

  /// Creates a signal that plays a line. Its values are their names, as strings.
  ///
  /// Each signal has a domain of its own. If several signals send a value at one tick, the signal
  /// that was created first is the first to send. A line that is not well formed traps.
  ///
  /// - Parameter line: The line to play.
  public func input(_ line: String) -> Signal<String> {
    let input = SignalInput<String>()
    let line = MarbleLine(line)
    inputs.withLock { $0.append((input, line)) }
    return input.signal
  }

  /// Records the values of a signal from now on.
  ///
  /// - Parameters:
  ///   - signal: The signal. The recording observes it immediately.
  ///   - name: A closure that returns the name of a value. The default is the value's description.
  public func record<Value>(
    _ signal: Signal<Value>,
    _ name: @escaping @Sendable (Value) -> String = { String(describing: $0) }
  ) -> MarbleRecording {
    let start = ticksPassed
    return MarbleRecording { add in
      signal.observe { [self] in
        add(.value(name($0)), ticksPassed - start)
      } onCompletion: { [self] in
        add(.end, ticksPassed - start)
      }
    }
  }

  /// Plays the inputs from their first tick to their last, and then a number of further ticks.
  ///
  /// - Parameter further: The number of ticks after the end of the longest input.
  public func play(further: Int = 20) {
    let played = inputs.withLock { inputs in
      defer { inputs = [] }
      return inputs
    }
    let length = played.map(\.line.ticks.count).max() ?? 0
    for number in 0..<length + further {
      for (input, line) in played where number < line.ticks.count {
        for marble in line.ticks[number] {
          switch marble {
          case .value(let name): input.send(name)
          case .end: input.finish()
          }
        }
      }
      clock.advance(by: tick)
    }
  }

  /// Records a signal, plays the inputs, and compares the values with a line.
  ///
  /// - Parameters:
  ///   - signal: The signal.
  ///   - line: The expected line. Silence at its end is ignored.
  ///   - name: A closure that returns the name of a value. The default is the value's description.
  /// - Throws: A ``MarbleError`` if the recorded line is different.
  public func check<Value>(
    _ signal: Signal<Value>, _ line: String,
    _ name: @escaping @Sendable (Value) -> String = { String(describing: $0) }
  ) throws(MarbleError) {
    let recording = record(signal, name)
    play()
    try recording.check(line)
  }

  private var ticksPassed: Int { Int(clock.now.offset.attoseconds / tick.attoseconds) }
}

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
  /// - Throws: A ``MarbleError`` if the recorded line is different.
  public func check(_ expected: String) throws(MarbleError) {
    let expected = MarbleLine(expected)
    let received = recorded.line.withLock { $0 }
    if received != expected {
      throw MarbleError(expected: expected.description, received: received.description)
    }
  }
}

/// An error that occurs if a signal sends other values than expected.
public struct MarbleError: Error, Hashable, CustomStringConvertible {
  /// The expected values, as a marble line.
  public let expected: String
  /// The received values, as a marble line.
  public let received: String

  /// Both lines, one below the other.
  public var description: String {
    """
    the signal has sent other values
      expected \(expected)
      received \(received)
    """
  }
}
