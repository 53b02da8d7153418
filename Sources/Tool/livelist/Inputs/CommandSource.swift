import FileSources
import Foundation
import ObservableCollections
import SwappablePrimitives

/// The output of a command, which runs again at an interval, or when a reload is requested.
struct CommandSource: PolledSource {
  typealias Element = JSONElement

  /// The largest output, in bytes.
  static let outputLimit = 256 << 20

  let command: ByteString
  /// The time from the start of a run to that of the next one, or `nil` for a single run.
  let interval: Duration?
  let format: SourceSpecification.Format?
  let options: SourceOptions

  /// The longest time that a run may take.
  private var timeout: Duration? { options.timeout ?? interval.map { $0 * 10 } }

  /// Creates the data source.
  func dataSource() -> any DataSource<JSONElement> {
    PolledDataSource(self, location: SourceSpecification.redacted(command: command))
  }

  func start(_ report: @escaping @Sendable (()) -> Void) -> Reloads.Registration {
    Reloads.register { report(()) }
  }

  func read(
    _ attempt: ReadAttempt, _: inout Reloads.Registration
  ) async throws -> ReadResult {
    let began = ContinuousClock.now
    let run = Result { () throws(SystemError) in try CommandRun(command) }
    let output: CommandRun.Output
    switch run {
    case .success(let run):
      output = await withTaskCancellationHandler {
        run.output(within: timeout, limit: Self.outputLimit)
      } onCancel: {
        run.cancel()
      }
    case .failure(let error): output = .failed("cannot be run: \(error.message)")
    }
    // A run that ends because nobody needs it, or because the program is stopped, says nothing.
    if Task.isCancelled || ShellProcess.isProgramEnding { return .nothing(for: nil) }
    let pause = interval.map { max(.zero, $0 - began.duration(to: .now)) }
    var result = self.result(of: output, again: pause)
    result.mode =
      interval.map { ("run again", "The command runs every \($0).") }
      ?? ("run once", "The command runs again when a reload is requested.")
    return result
  }

  private func result(of output: CommandRun.Output, again pause: Duration?) -> ReadResult {
    let name = "the command \(SourceSpecification.redacted(command: command))"
    switch output {
    case .bytes(let bytes) where bytes.contains(0):
      return failure("the output of \(name) is no text, because it has zero bytes", again: pause)
    case .bytes(let bytes):
      do throws(JSONElement.ParsingError) {
        let (elements, diagnostics) = try elements(of: bytes, named: name)
        var result = ReadResult.contents(.whole(elements), again: pause)
        result.diagnostics = diagnostics
        return result
      } catch {
        return failure("the output of \(name) is no list: \(error)", again: pause)
      }
    case .failed(let reason): return failure("\(name) \(reason)", again: pause)
    }
  }

  private func failure(_ message: String, again pause: Duration?) -> ReadResult {
    .failure(.failed(SourceError(code: "command", message: message)), again: pause)
  }

  private func elements(
    of bytes: [UInt8], named name: String
  ) throws(JSONElement.ParsingError) -> ([JSONElement], [SourceStatus.Diagnostic]) {
    switch format ?? SourceSpecification.Format(startingWith: bytes) ?? .jsonLines {
    case .json: return (try JSONElement.elements(ofArray: bytes, key: options.key), [])
    case .document(let pointer):
      let list = try pointer.list(in: bytes, spreadsMembers: options.spreadsMembers)
      return (try JSONElement.elements(ofArray: list.text, key: options.key), [])
    case .rows(let delimiter):
      var rows = CSVStream(
        delimiter: delimiter, key: options.key, hasNumbers: options.hasNumbers,
        isStrict: options.hasStrictLines)
      var bytes = bytes
      let elements = try rows.takeElements(from: &bytes, isAtEnd: true)
      let lines = PipeLines(
        name: "the output of \(name)", options: options, skipped: rows.skipped)
      return (elements, lines.diagnostics(isAtEnd: false))
    case .jsonLines:
      var lines = PipeLines(name: "the output of \(name)", options: options)
      let elements = try lines.parse(bytes[...], isAtEnd: true)
      // Words of a person, such as a usage text, are no list.
      if elements.isEmpty, let error = lines.skipped.latest { throw error }
      return (elements, lines.diagnostics(isAtEnd: false))
    }
  }
}

/// The requests to read sources again that do not notice changes themselves.
enum Reloads {
  private static let actions = Locked<[UInt64: @Sendable () -> Void]>([:])
  private static let count = Locked<UInt64>(0)

  /// Ends with its release.
  final class Registration: Sendable {
    private let number: UInt64

    fileprivate init(_ number: UInt64) { self.number = number }

    deinit { Reloads.actions.withLock { _ = $0.removeValue(forKey: number) } }
  }

  static func register(_ action: @escaping @Sendable () -> Void) -> Registration {
    let number = count.withLock { count in
      count += 1
      return count
    }
    actions.withLock { $0[number] = action }
    return Registration(number)
  }

  /// Reads all such sources.
  ///
  /// - Returns: A Boolean value that indicates whether there are any.
  @discardableResult
  static func request() -> Bool {
    let all = actions.withLock { Array($0.values) }
    for action in all { action() }
    return !all.isEmpty
  }
}

/// One run of a command, with its standard output and error.
final class CommandRun: Sendable {
  enum Output {
    case bytes([UInt8])
    /// What happened, as it follows the name of the command.
    case failed(String)
  }

  /// The time between the request to end and the forced end.
  private static let grace = Duration.seconds(2)
  /// The part of standard error that is kept.
  private static let errorLimit = 1 << 14

  private let process: ShellProcess
  private let output: ReadingEnd
  private let errors: ReadingEnd
  private let isCanceled = Locked(false)

  init(_ command: ByteString) throws(SystemError) {
    let (output, outputWriter) = try ReadingEnd.makePipe()
    let (errors, errorWriter) = try ReadingEnd.makePipe()
    (self.output, self.errors) = (output, errors)
    let input = open("/dev/null", O_RDONLY | O_CLOEXEC)
    defer { for descriptor in [outputWriter, errorWriter, input] { close(descriptor) } }
    process = try ShellProcess(command, input: input, output: outputWriter, errors: errorWriter)
  }

  /// Ends the run. Its output is incomplete.
  func cancel() {
    isCanceled.withLock { $0 = true }
    process.signal(SIGKILL)
  }

  /// Waits for the end of the command, and returns its output.
  ///
  /// Processes that the command has left are ended, too: they could keep the output open forever.
  func output(within timeout: Duration?, limit: Int) -> Output {
    let deadline = timeout.map { ContinuousClock.now + $0 }
    var (bytes, errorBytes): ([UInt8], [UInt8]) = ([], [])
    var failure: String?
    while failure == nil {
      // Before the read: what the command has written until its end is complete.
      let hasExited = process.hasExited
      let isOpen = (output.append(to: &bytes), errors.append(to: &errorBytes))
      if errorBytes.count > Self.errorLimit {
        errorBytes.removeFirst(errorBytes.count - Self.errorLimit)
      }
      if bytes.count > limit {
        failure =
          "has printed more than \(limit >> 20) MB, and was ended; print less, for example with head"
      } else if let deadline, let timeout, .now > deadline {
        failure = "took longer than \(timeout), and was ended; --timeout gives it more time"
      }
      if hasExited || isCanceled.withLock({ $0 }) { break }
      // A command that has closed its outputs usually ends at once.
      if isOpen == (false, false) { usleep(2_000) } else { ReadingEnd.wait([output, errors]) }
    }
    if failure != nil { endByForce() }
    let status = process.waitForExit()
    process.signal(SIGKILL)
    if let failure { return .failed(failure) }
    guard let reason = ShellProcess.failure(status) else { return .bytes(bytes) }
    let text = String(decoding: errorBytes, as: UTF8.self)
    let line = text.split(whereSeparator: \.isNewline).last { !$0.allSatisfy(\.isWhitespace) }
    return .failed(reason + (line.map { ": \(String($0.prefix(500)).printableLine)" } ?? ""))
  }

  /// Ends the processes of the command: first politely, and after a time by force.
  private func endByForce() {
    process.signal(SIGTERM)
    let deadline = ContinuousClock.now + Self.grace
    while !process.hasExited, .now < deadline { usleep(5_000) }
    process.signal(SIGKILL)
  }
}

/// The end of a pipe from which the output of a command is read without waiting.
private final class ReadingEnd: Sendable {
  private static let chunkSize = 1 << 16

  private let descriptor: Int32
  private let isAtEnd = Locked(false)

  private init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  static func makePipe() throws(SystemError) -> (ReadingEnd, writer: Int32) {
    guard let (reader, writer) = WakePipe.makeEnds() else {
      throw SystemError(errno, "cannot make a pipe: ")
    }
    // The command waits as usual if it writes faster than it is read.
    _ = fcntl(writer, F_SETFL, 0)
    return (ReadingEnd(reader), writer)
  }

  /// Appends some of the bytes that are there.
  ///
  /// - Returns: A Boolean value that indicates whether more bytes may follow.
  func append(to bytes: inout [UInt8]) -> Bool {
    if isAtEnd.withLock({ $0 }) { return false }
    return withUnsafeTemporaryAllocation(byteCount: Self.chunkSize, alignment: 1) { chunk in
      // At most 4 MB, so that the other pipe does not fill.
      for _ in 0..<64 {
        let count = read(descriptor, chunk.baseAddress, chunk.count)
        if count > 0 {
          bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: chunk[..<count]))
        } else if count < 0, errno == EAGAIN || errno == EWOULDBLOCK {
          return true
        } else if count == 0 || errno != EINTR {
          isAtEnd.withLock { $0 = true }
          return false
        }
      }
      return true
    }
  }

  /// Waits until there are bytes, or a moment, because a process that has ended may have left its output to another one.
  static func wait(_ ends: [ReadingEnd]) {
    var requests = ends.filter { !$0.isAtEnd.withLock { $0 } }
      .map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
    poll(&requests, nfds_t(requests.count), 100)
  }
}
