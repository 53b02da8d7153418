import Dispatch

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

  private let input: AsyncStream<Input>.Continuation
  private let terminal: Terminal
  private let signals: TerminalSignals
  private var writer: FrameWriter
  private var tasks: [Task<Void, Never>] = []
  private var isEnding = false
  /// Waits until the terminal accepts the rest of a frame.
  // Used on the main actor, and by the deinitializer. The declaration of Dispatch does not say that it is sendable.
  nonisolated(unsafe) private var outputWait: (any DispatchSourceWrite)?
  /// The latest frame that was not sent, because the terminal has not accepted the frame before.
  private var nextFrame: TerminalFrame?

  /// Takes over the terminal.
  ///
  /// In the background of the terminal, the job stops until the user continues it in the foreground.
  ///
  /// - Throws: A ``TerminalError`` if there is no terminal, or if it cannot show frames.
  public init() throws(TerminalError) {
    // While the job waits for the foreground, signals have their usual actions.
    terminal = try Terminal()
    // Take over the signals before the screen: any signal from now on restores it.
    signals = try TerminalSignals()
    writer = FrameWriter(isColorless: TerminalCapabilities.ofTerminal != .colors)
    (inputs, input) = AsyncStream.makeStream()
    try terminal.enter()
    defer { send([]) }
    tasks = [
      Task { [weak self, keys = terminal.keys(), input] in
        for await key in keys { input.yield(.key(key)) }
        self?.input.yield(.ended)
      },
      Task { [weak self, signals = signals.signals] in
        for await signal in signals { self?.handle(signal) }
      },
    ]
  }

  deinit {
    for task in tasks { task.cancel() }
    outputWait?.cancel()
    terminal.leave()
  }

  /// The current size of the terminal.
  public var size: TerminalSize { terminal.size }

  /// Shows a frame.
  ///
  /// The method does not wait for a terminal that does not read, for example because its connection hangs. When the
  /// terminal reads again, it receives the latest frame.
  ///
  /// This method has no effect after the screen is closed.
  public func show(_ frame: TerminalFrame) {
    if isClosed { return }
    // After the process has continued in the background, the terminal is not its own. See `handle(_:)`.
    if !terminal.isAvailable { return }
    if outputWait != nil {
      nextFrame = frame
    } else {
      send(writer.bytes(for: frame))
    }
  }

  /// Sends bytes, and waits for the terminal if it does not accept all of them.
  private func send(_ bytes: [UInt8]) {
    attempt { () throws(TerminalError) in
      guard try !terminal.send(bytes), outputWait == nil else { return }
      let wait = terminal.makeWriteSource { [weak self] in
        MainActor.assumeIsolated { self?.continueSending() }
      }
      wait.activate()
      outputWait = wait
    }
  }

  private func continueSending() {
    if isClosed { return }
    attempt { () throws(TerminalError) in
      guard try terminal.send([]) else { return }
      let frame = nextFrame
      endOutputWait()
      if let frame { show(frame) }
    }
  }

  private func endOutputWait() {
    outputWait?.cancel()
    outputWait = nil
    nextFrame = nil
  }

  /// Requests that the next frame is drawn completely.
  public func redraw() { writer.forget() }

  /// Restores the terminal and stops the program until the user continues it in the foreground.
  public func suspend() {
    if isClosed { return }
    terminal.leave()
    takeAgain { terminal, signals throws(TerminalError) in
      try signals.withPreviousActions { () throws(TerminalError) in try terminal.suspend() }
    }
  }

  /// Takes the screen again. Another program may have changed the modes and the contents of the terminal.
  ///
  /// - Parameter wait: A closure that returns when the process may use the terminal. While the terminal
  ///   belongs to another job, no signal need restore the screen.
  private func takeAgain(after wait: (Terminal, TerminalSignals) throws(TerminalError) -> Void) {
    endOutputWait()
    attempt { () throws(TerminalError) in
      try wait(terminal, signals)
      try terminal.enter()
    }
    send([])
    writer.forget()
    input.yield(.resized)
  }

  /// Restores the terminal and ends the stream of inputs.
  public func close() {
    for task in tasks { task.cancel() }
    tasks = []
    endOutputWait()
    terminal.leave()
    input.finish()
  }

  private var isClosed: Bool { tasks.isEmpty }

  private func handle(_ signal: TerminalSignals.Signal) {
    if isClosed { return }
    switch signal {
    case .resize:
      // Even if the size is the old one again, the terminal may have clipped its contents
      // meanwhile.
      writer.forget()
      input.yield(.resized)
    case .suspend: suspend()
    case .resume:
      if isEnding { return }
      takeAgain { terminal, signals throws(TerminalError) in
        if terminal.isAvailable { return }
        try signals.withPreviousActions { () throws(TerminalError) in
          try terminal.waitForForeground()
        }
      }
    case .interrupt, .terminate, .hangup, .quit, .alarm, .user1, .user2, .other:
      isEnding = true
      input.yield(.ended)
    }
  }

  /// Performs an operation of the terminal. If it fails, the terminal is gone and the program
  /// should exit.
  private func attempt(_ operation: () throws(TerminalError) -> Void) {
    do throws(TerminalError) {
      try operation()
    } catch {
      endOutputWait()
      input.yield(.ended)
    }
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
