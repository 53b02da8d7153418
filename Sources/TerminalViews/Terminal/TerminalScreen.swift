/// The screen of the terminal that a program runs in. It shows frames and reports the user's input.
///
/// ```swift
/// let screen = try TerminalScreen()
/// defer { screen.close() }
/// screen.show(TerminalFrame(size: screen.size, lines: [TerminalLine("q quits")]))
/// for await input in screen.inputs where input == .key(.character("q")) { break }
/// ```
///
/// The screen takes over the terminal and the signals of the process until you close or release it.
/// Then it restores them, however the program leaves its loop. For each frame, it sends only the
/// differences from the previous one.
@MainActor
public final class TerminalScreen {
  /// An action of the user, or an event of the terminal.
  public enum Input: Sendable, Hashable {
    /// The user pressed a key.
    case key(TerminalKey)
    /// The size changed, or another program used the screen in the meantime. Draw a frame.
    case resized
    /// The program should exit, because of a signal or because the terminal is gone.
    case ended
  }

  /// The inputs in order, for one reader.
  public let inputs: AsyncStream<Input>

  private let send: AsyncStream<Input>.Continuation
  private let terminal: Terminal
  private let signals: TerminalSignals
  private var writer: FrameWriter
  private var tasks: [Task<Void, Never>] = []

  /// Takes over the terminal.
  ///
  /// - Throws: A ``TerminalError`` if there is no terminal, or if it cannot show frames.
  public init() throws(TerminalError) {
    // Take over the signals first: any signal from now on restores the screen.
    signals = try TerminalSignals()
    terminal = try Terminal()
    writer = FrameWriter(isColorless: TerminalCapabilities.current != .colors)
    (inputs, send) = AsyncStream.makeStream()
    try terminal.enter()
    tasks = [
      Task { [weak self, keys = terminal.keys(), send] in
        for await key in keys { send.yield(.key(key)) }
        self?.send.yield(.ended)
      },
      Task { [weak self, signals = signals.signals] in
        for await signal in signals { self?.handle(signal) }
      },
    ]
  }

  deinit {
    for task in tasks { task.cancel() }
    terminal.leave()
  }

  /// The current size of the terminal.
  public var size: TerminalSize { terminal.size }

  /// Shows a frame, and returns after the terminal has accepted it.
  ///
  /// This method has no effect after the screen is closed.
  public func show(_ frame: TerminalFrame) {
    if isClosed { return }
    let bytes = writer.bytes(for: frame)
    if !bytes.isEmpty { attempt { () throws(TerminalError) in try terminal.write(bytes) } }
  }

  /// Requests that the next frame is drawn completely.
  public func redraw() { writer.forget() }

  /// Restores the terminal and stops the program until the user continues it.
  public func suspend() {
    if isClosed { return }
    attempt { () throws(TerminalError) in try terminal.suspend() }
    writer.forget()
    send.yield(.resized)
  }

  /// Restores the terminal and ends the stream of inputs.
  public func close() {
    for task in tasks { task.cancel() }
    tasks = []
    terminal.leave()
    send.finish()
  }

  private var isClosed: Bool { tasks.isEmpty }

  private func handle(_ signal: TerminalSignals.Signal) {
    if isClosed { return }
    switch signal {
    case .resize:
      // Even if the size is the old one again, the terminal may have clipped its contents
      // meanwhile.
      writer.forget()
      send.yield(.resized)
    case .suspend: suspend()
    case .resume:
      // Another program may have changed the modes and the contents of the terminal.
      attempt { () throws(TerminalError) in try terminal.enter() }
      writer.forget()
      send.yield(.resized)
    case .interrupt, .terminate, .hangup: send.yield(.ended)
    }
  }

  /// Performs an operation of the terminal. If it fails, the terminal is gone and the program
  /// should exit.
  private func attempt(_ operation: () throws(TerminalError) -> Void) {
    do throws(TerminalError) { try operation() } catch { send.yield(.ended) }
  }
}

/// An error of an operation on a terminal.
public struct TerminalError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The error code of the system, an `errno`.
  public let code: Int32
  /// The operation that failed, and the thing that it was applied to.
  public let action: String
  /// The system's description of the code.
  public let reason: String
  /// A suggestion that may help, if there is one.
  public let advice: String?
  /// A Boolean value that indicates whether the terminal, or the reader of the output, is gone.
  public let isReaderGone: Bool

  /// The operation that failed, the reason, and the advice.
  public var description: String {
    "cannot \(action): \(reason)" + (advice.map { "; \($0)" } ?? "")
  }
}
