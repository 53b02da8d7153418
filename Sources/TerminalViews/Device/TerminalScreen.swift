/// The screen of a program's terminal: shows frames, and tells what the user does.
///
/// ```swift
/// let screen = try TerminalScreen()
/// defer { screen.close() }
/// screen.show(TerminalFrame(size: screen.size, lines: [TerminalLine("q quits")]))
/// for await input in screen.inputs where input == .key(.character("q")) { break }
/// ```
///
/// It takes the terminal and the process's signals until it is closed or let go of, however the program
/// leaves it, and gives them back as they were. Of a frame it sends only what differs from the one before.
@MainActor
public final class TerminalScreen {
  /// What a user does, or the terminal itself.
  public enum Input: Sendable, Hashable {
    /// A key is pressed.
    case key(TerminalKey)
    /// The size is another, or the screen was given to another program meanwhile: draw.
    case resized
    /// The program is to end: it was asked to by a signal, or nobody sees the screen any more.
    case ended
  }

  /// What happens, for one reader, in order.
  public let inputs: AsyncStream<Input>

  private let send: AsyncStream<Input>.Continuation
  private let terminal: Terminal
  private let signals: TerminalSignals
  private var writer: FrameWriter
  private var tasks: [Task<Void, Never>] = []

  /// Takes the terminal.
  ///
  /// - Throws: Where there is none, or none that can show frames.
  public init() throws(TerminalFailure) {
    // First, so that whatever comes from here on gives the screen back.
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
        for await signal in signals { self?.obey(signal) }
      },
    ]
  }

  deinit {
    for task in tasks { task.cancel() }
    terminal.leave()
  }

  /// The size of the terminal now.
  public var size: TerminalSize { terminal.size }

  /// Shows a frame, and returns when the terminal has taken it.
  ///
  /// Once the screen is closed, nothing is shown.
  public func show(_ frame: TerminalFrame) {
    if isClosed { return }
    let bytes = writer.bytes(for: frame)
    if !bytes.isEmpty { attempt { () throws(TerminalFailure) in try terminal.write(bytes) } }
  }

  /// Has the next frame drawn as a whole, whatever the screen shows.
  public func redraw() { writer.forget() }

  /// Gives the screen back and stops the program, until the user continues it.
  public func suspend() {
    if isClosed { return }
    attempt { () throws(TerminalFailure) in try terminal.suspend() }
    writer.forget()
    send.yield(.resized)
  }

  /// Gives the screen back as it was.
  public func close() {
    for task in tasks { task.cancel() }
    tasks = []
    terminal.leave()
    send.finish()
  }

  private var isClosed: Bool { tasks.isEmpty }

  private func obey(_ signal: TerminalSignal) {
    if isClosed { return }
    switch signal {
    case .resize:
      // A size that came and went has cut off what stood outside of it.
      writer.forget()
      send.yield(.resized)
    case .suspend: suspend()
    case .resume:
      // Whoever was there meanwhile has left the screen as it liked.
      attempt { () throws(TerminalFailure) in try terminal.enter() }
      writer.forget()
      send.yield(.resized)
    case .interrupt, .terminate, .hangup: send.yield(.ended)
    }
  }

  /// Where the terminal refuses to be written to, nobody can see the program any more.
  private func attempt(_ work: () throws(TerminalFailure) -> Void) {
    do throws(TerminalFailure) { try work() } catch { send.yield(.ended) }
  }
}
