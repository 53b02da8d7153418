import FileSources
import Foundation
import ObservableCollections

/// The first load of `watch`. Commands on standard input are read meanwhile.
///
/// A `swap` waits for the load, because a script may write all its commands at once. `cancel` cancels the
/// load. Then the source of the latest `swap` is loaded instead, or else the program ends. After a second
/// `quit`, it ends at once.
struct WatchStart {
  private enum Event: Sendable {
    case line([UInt8]?)
    /// The result of a load, with the number of the load.
    case loaded(Result<Void, LivelistError>, load: Int)
  }

  let input: CommandInput
  /// Creates the source for a specification.
  let open: (SourceSpecification) throws(LivelistError) -> any DataSource<JSONElement>
  /// Waits until a source is loaded.
  let load: @Sendable (any DataSource<JSONElement>) async throws(LivelistError) -> Void

  /// Loads the first source.
  func loadedSource(
    _ specification: SourceSpecification
  ) async throws(LivelistError) -> any DataSource<JSONElement> {
    let (events, continuation) = AsyncStream.makeStream(of: Event.self)
    var (specification, number) = (specification, 0)
    var source = try open(specification)
    var loading = start(source, number, continuation)
    var waiting: [[UInt8]] = []
    defer { input.put(back: waiting) }
    var quitCount = 0
    expectLine(continuation)
    for await event in events {
      switch event {
      case .loaded(let result, load: number):
        try result.get()
        return source
      case .line(let line?):
        input.removeLine()
        switch try? WatchCommand(line: line) {
        case .quit where quitCount > 0: Program.end()
        case .quit:
          quitCount += 1
          waiting.append(line)
        case .cancel:
          loading.cancel()
          guard let next = WatchStart.removeSwaps(from: &waiting) else {
            throw .input("cannot load \(specification.text): the load was canceled")
          }
          (specification, number) = (next, number + 1)
          source = try open(specification)
          loading = start(source, number, continuation)
        default: waiting.append(line)
        }
        expectLine(continuation)
      case .loaded, .line(nil): break
      }
    }
    return source
  }

  /// Removes all swaps from lines.
  ///
  /// - Returns: The source of the last one, or `nil` if there is none.
  private static func removeSwaps(from lines: inout [[UInt8]]) -> SourceSpecification? {
    var source: SourceSpecification?
    lines.removeAll { line in
      guard case .swap(let specification) = try? WatchCommand(line: line) else { return false }
      source = specification
      return true
    }
    return source
  }

  private func start(
    _ source: any DataSource<JSONElement>, _ number: Int,
    _ continuation: AsyncStream<Event>.Continuation
  ) -> Task<Void, Never> {
    Task { [load] in
      do throws(LivelistError) {
        try await load(source)
        continuation.yield(.loaded(.success(()), load: number))
      } catch {
        continuation.yield(.loaded(.failure(error), load: number))
      }
    }
  }

  private func expectLine(_ continuation: AsyncStream<Event>.Continuation) {
    let reading = input.reading()
    Task { continuation.yield(.line(await reading.value)) }
  }
}

/// The lines of standard input, some of which may have been read already.
///
/// It reads a line only if somebody waits for it, so an endless input needs no memory.
final class CommandInput {
  private let reader = LineReader(descriptor: STDIN_FILENO)
  private var lines: [[UInt8]] = []
  private var current: Task<[UInt8]?, Never>?

  /// Returns the next line without its line break, or `nil` after the last line.
  func next() async -> [UInt8]? {
    if !lines.isEmpty { return lines.removeFirst() }
    let line = await reading().value
    current = nil
    return line
  }

  /// Begins to read the next line of standard input, unless that has begun already.
  func reading() -> Task<[UInt8]?, Never> {
    if let current { return current }
    let reading = Task { [reader] in await reader.next() }
    current = reading
    return reading
  }

  /// Removes the line whose reading has ended.
  func removeLine() { current = nil }

  /// Returns lines to the input, before all others.
  func put(back lines: [[UInt8]]) { self.lines = lines + self.lines }
}
