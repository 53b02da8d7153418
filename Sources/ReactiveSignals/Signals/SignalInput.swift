/// The end of a signal that values are sent into.
///
///     let clicks = SignalInput<Int>()
///     let observation = clicks.signal.observe { print($0) }
///     clicks.send(1)
public final class SignalInput<Value: Sendable>: SignalSource {
  /// The signal of what is sent.
  public let signal: Signal<Value>

  /// Makes a signal without observers.
  public convenience init() {
    self.init(pauseHook: nil)
  }

  package init(pauseHook: PauseHook?) {
    signal = Signal(
      SignalNode(domain: Domain(pauseHook: pauseHook), latest: nil))
  }

  /// Sends a value to all observers.
  ///
  /// When it returns, immediate observers have got it, unless it was called inside an observer or
  /// another thread is delivering: then it follows what is on its way. Nothing is sent after the end.
  public func send(_ value: Value) {
    signal.node.send(value)
  }

  /// Ends the signal: observers are told after what is on its way, and then let go.
  ///
  /// Ending it again does nothing. Letting the input go does not end its signal.
  public func finish() {
    signal.node.finish()
  }
}
