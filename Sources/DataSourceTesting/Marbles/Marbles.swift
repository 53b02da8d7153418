public import ReactiveSignals
import SwappablePrimitives

/// Plays signals that are written as text, and compares what comes out.
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
/// Blanks mean nothing, but in a name. What a timed operator does at a tick comes before what the
/// inputs bring then. All happens on the thread that plays, so that a test is the same each time.
public final class Marbles: Sendable {
  /// The clock of the operators under test.
  public let clock = ManualClock()
  /// How far apart two ticks are.
  public let tick: Duration
  private let inputs = Locked<[(input: SignalInput<String>, line: MarbleLine)]>([])

  /// Makes a stage without inputs.
  ///
  /// - Parameter tick: How far apart two ticks are; more than zero.
  public init(tick: Duration = .seconds(1)) {
    precondition(tick > .zero, "marbles with a tick of \(tick)")
    self.tick = tick
  }

  /// Makes a signal that plays a line: the names of its values, as strings.
  ///
  /// Each has a domain of its own; of several at one tick, the one that was made first comes first. A
  /// line that is not well formed traps.
  ///
  /// - Parameter line: What it plays, from now on.
  public func input(_ line: String) -> Signal<String> {
    let input = SignalInput<String>()
    let line = MarbleLine(line)
    inputs.withLock { $0.append((input, line)) }
    return input.signal
  }

  /// Records what a signal brings from now on.
  ///
  /// - Parameters:
  ///   - signal: What is observed, by an immediate observer.
  ///   - name: Names its values; by default as they describe themselves.
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

  /// Plays the inputs from their first tick on, and so many ticks more.
  ///
  /// - Parameter further: How many ticks follow the end of the longest input.
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

  /// Records a signal, plays the inputs, and compares.
  ///
  /// - Parameters:
  ///   - signal: What is observed.
  ///   - line: What is to come; silence at its end means nothing.
  ///   - name: Names the values; by default as they describe themselves.
  /// - Throws: ``MarbleMismatch`` where something else has come.
  public func check<Value>(
    _ signal: Signal<Value>, _ line: String,
    _ name: @escaping @Sendable (Value) -> String = { String(describing: $0) }
  ) throws(MarbleMismatch) {
    let recording = record(signal, name)
    play()
    try recording.check(line)
  }

  private var ticksPassed: Int { Int(clock.now.offset.attoseconds / tick.attoseconds) }
}
