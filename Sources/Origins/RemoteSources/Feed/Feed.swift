public import Diffing
public import FileSources
public import Foundation
public import ObservableCollections
import SwappablePrimitives

/// A live collection as lines of JSON, for subscribers in other processes.
///
///     let feed = Feed(container, key: "id")
///     let server = try FeedServer(path: "/run/lists.sock", feeds: ["packages": feed])
///
/// Each event is one line in the format of `livelist watch`, with a token. A subscriber that was away sends the token of
/// the last line that it received. It then receives one change, or nothing if it has missed nothing.
///
/// A feed encodes each line once, for all subscribers. It holds nothing for a subscriber but the revision that it
/// has. A slow subscriber receives fewer and larger changes.
///
/// A token contains a fingerprint of the contents. If a service starts again with equal contents, the tokens of its
/// previous run remain valid.
public final class Feed: Sendable {
  /// A line that a subscriber receives.
  public struct Line: Sendable {
    final class Storage: Sendable {
      let bytes: [UInt8]
      let token: String?
      /// The revision after the line, if it has a token.
      let revision: Int
      /// The state of the source that the line reports beside contents, or `nil` if it reports none.
      let failure: SourceStatus.State?

      init(
        _ buffer: LineBuffer, token: String? = nil, revision: Int = 0,
        failure: SourceStatus.State? = nil
      ) {
        (bytes, self.token, self.revision) = (buffer.bytes, token, revision)
        self.failure = failure
      }
    }

    let storage: Storage

    /// The line as UTF-8, with its line break.
    public var bytes: [UInt8] { storage.bytes }

    /// The line without its line break.
    public var text: String { String(decoding: storage.bytes.dropLast(), as: UTF8.self) }

    /// The token with which a subscriber that has received this line resumes, or `nil` if the line has none.
    public var token: String? { storage.token }

    /// The line as a Server-Sent Event, with the empty line that ends it.
    ///
    /// The token is the id of the event. Therefore, a browser that connects again sends it in the header
    /// `Last-Event-ID`. The line contains no line break, because JSON escapes line breaks in strings.
    ///
    /// - Complexity: O(n) in the length of the line.
    public var serverSentEvent: String {
      let id = token.map { "id: \($0)\n" } ?? ""
      return "\(id)data: \(text)\n\n"
    }
  }

  let contents: any FeedContents

  /// Creates a feed of JSON elements.
  ///
  /// - Parameters:
  ///   - source: The collection. If it is idle, it is started.
  ///   - key: The name of the member that identifies an element. Subscribers use it to recognize elements.
  ///   - sendsStatusMessages: A Boolean value that indicates whether `status` lines contain the message of an error.
  ///     Messages can contain paths and SQL. Pass `false` if subscribers are not allowed to read them.
  ///   - retention: How many changes are recorded for subscribers that return. By default, they take at most 64 MB.
  ///   - clock: The clock that measures the ages of changes, and the intervals between lines.
  public init(
    _ source: some DataSource<JSONElement>, key: String? = nil, sendsStatusMessages: Bool = true,
    retaining retention: CollectionHistory<JSONElement>.Retention = .init(bytes: 64 << 20),
    clock: some Clock<Duration> = ContinuousClock()
  ) {
    contents = RecordedContents(
      source.history(retaining: retention, clock: clock), key, AnyClock(clock),
      sendsStatusMessages: sendsStatusMessages)
  }

  /// Creates a feed of elements that `JSONEncoder` encodes.
  ///
  /// If an element cannot be encoded, subscribers keep the contents that they have, and receive a status with the
  /// reason. A `Date` is a number of milliseconds since 1970, with as many digits as it needs to come back equal.
  ///
  /// - Parameters:
  ///   - source: The collection. If it is idle, it is started.
  ///   - key: The name of the encoded member that identifies an element. Subscribers use it to recognize elements.
  ///   - sendsStatusMessages: A Boolean value that indicates whether `status` lines contain the message of an error.
  ///     Messages can contain paths and SQL. Pass `false` if subscribers are not allowed to read them.
  ///   - retention: How many changes are recorded for subscribers that return. By default, they take at most 64 MB.
  ///   - clock: The clock that measures the ages of changes, and the intervals between lines.
  ///   - configure: A closure that configures the encoder. Keys are always sorted, and the output is never
  ///     indented.
  public init<Element: Differentiable & Sendable & Encodable>(
    _ source: some DataSource<Element>, key: String? = nil, sendsStatusMessages: Bool = true,
    retaining retention: CollectionHistory<Element>.Retention = .init(bytes: 64 << 20),
    clock: some Clock<Duration> = ContinuousClock(),
    configure: (JSONEncoder) -> Void = { _ in }
  ) {
    let encoding = ElementEncoding(key: key, configure: configure)
    let history = source.map { encoding.encode($0) }.history(
      retaining: .init(
        revisions: retention.revisions, changes: retention.changes, age: retention.age,
        bytes: retention.bytes),
      clock: clock)
    contents = RecordedContents(
      history, key, AnyClock(clock), sendsStatusMessages: sendsStatusMessages)
  }

  /// Returns the `initial` line of the present contents.
  ///
  /// - Returns: The line, or `nil` if the collection has not loaded, or if an element cannot be encoded.
  /// - Complexity: O(n). As long as the line is kept, O(1) for further calls at the same revision.
  public func snapshot() -> Line? {
    if case .line(let line) = contents.initial(isExact: true) { line } else { nil }
  }

  /// Returns a Boolean value that indicates whether a token is one of the present contents.
  ///
  /// That includes a token of an earlier run of a service, and one of an earlier revision with equal contents. Such a token
  /// differs from the token of the latest ``snapshot()``. A subscriber that resumes from it receives no contents and no
  /// change.
  ///
  /// - Parameter token: The token of any line.
  /// - Returns: A Boolean value, which is `false` if the collection has not loaded.
  /// - Complexity: O(1) at the latest revision. The first call computes the fingerprint of the contents, O(n).
  public func isCurrent(_ token: String) -> Bool { contents.isCurrent(token) }

  /// Returns the lines for one subscriber.
  ///
  /// The first line is an `initial` line, or an `alive` line if the feed knows the token. It is followed by `change`
  /// lines, and by `status` lines when the status changes. While the collection has not loaded, there are
  /// only `status` lines. If there is nothing to send for some time, an `alive` line is sent.
  ///
  /// While the subscriber does not ask for the next line, changes are composed. If there are too many, an `initial`
  /// line replaces them.
  ///
  /// - Parameters:
  ///   - token: The token of the last line that the subscriber has received, or `nil` to begin with an `initial` line.
  ///   - interval: The longest time between two lines, above 0. An `alive` line may come up to a sixteenth earlier, at the same
  ///     time as for other subscribers.
  /// - Returns: A sequence that ends only if its task is canceled.
  public func lines(
    since token: String? = nil, aliveEvery interval: Duration = .seconds(15)
  ) -> Lines {
    precondition(interval > .zero, "the interval must be above 0 seconds, but is \(interval)")
    return Lines(cursor: FeedCursor(contents, since: token), interval: interval)
  }

  /// The lines for one subscriber.
  public struct Lines: AsyncSequence, Sendable {
    let cursor: FeedCursor
    let interval: Duration

    public func makeAsyncIterator() -> Iterator { Iterator(lines: self, cursor: cursor) }

    /// The position of one subscriber.
    public struct Iterator: AsyncIteratorProtocol {
      let lines: Lines
      var cursor: FeedCursor

      /// Waits for the next line. Returns `nil` if the task is canceled.
      public mutating func next() async -> Line? {
        while !Task.isCancelled {
          let news = cursor.contents.news
          let version = news.version
          cursor.contents.advance()
          if let line = cursor.next() { return line }
          let isChanged = await news.wait(after: version, lines.interval)
          if !isChanged, !Task.isCancelled { return cursor.alive() }
        }
        return nil
      }
    }
  }
}

/// The position of one subscriber of a feed.
struct FeedCursor: Sendable {
  private enum Position: Sendable {
    /// Nothing was sent but status lines. The subscriber may have a token.
    case start(token: String?)
    /// The subscriber has the contents of a revision, and its token.
    case revision(Int, token: String)
  }

  let contents: any FeedContents
  private var position: Position
  /// The state of the source that the subscriber knows.
  private var state: SourceStatus.State?
  /// A Boolean value that indicates whether the next change has all that happened during an interruption.
  private var isResuming: Bool

  init(_ contents: any FeedContents, since token: String?) {
    self.contents = contents
    position = .start(token: token)
    isResuming = token != nil
  }

  /// Returns the next line, or `nil` if the subscriber has all.
  mutating func next() -> Feed.Line? {
    switch position {
    case .start(let token):
      if let token, let line = contents.resume(from: token) { return begun(by: line) }
      return reset()
    case .revision(let revision, _):
      switch contents.next(after: revision, isWhole: isResuming) {
      case .line(let line):
        isResuming = false
        return moved(by: line)
      case .status(let status): return statusLine(status)
      case .nothing: return nil
      case .reset: return reset()
      }
    }
  }

  /// Returns a line for a subscriber that has received nothing for some time: before the first contents, the status again.
  func alive() -> Feed.Line {
    guard case .revision(let revision, let token) = position else {
      return contents.line(for: state.map { SourceStatus($0) } ?? contents.status)
    }
    return contents.alive(at: revision, token: token)
  }

  private mutating func reset() -> Feed.Line? {
    switch contents.initial(isExact: false) {
    case .line(let line): begun(by: line)
    case .status(let status): statusLine(status)
    case .nothing, .reset: nil
    }
  }

  /// Returns a line with which the subscriber knows the state of the source, too.
  private mutating func begun(by line: Feed.Line) -> Feed.Line {
    state = line.storage.failure ?? .loaded
    return moved(by: line)
  }

  private mutating func moved(by line: Feed.Line) -> Feed.Line {
    position = .revision(line.storage.revision, token: line.token ?? "")
    return line
  }

  private mutating func statusLine(_ status: SourceStatus) -> Feed.Line? {
    if status.state == state { return nil }
    state = status.state
    return contents.line(for: status)
  }
}

/// An element of a program, and its JSON.
///
/// The history copies many elements with each change. Therefore, a copy is one reference.
struct EncodedElement<Element: Differentiable & Sendable>: EventElement, SizedElement {
  private final class Storage: Sendable {
    let element: Element
    let json: JSONElement
    let encodingFailure: String?

    init(_ element: Element, _ json: JSONElement, _ encodingFailure: String?) {
      (self.element, self.json, self.encodingFailure) = (element, json, encodingFailure)
    }
  }

  private let storage: Storage

  init(_ element: Element, _ json: JSONElement, encodingFailure: String? = nil) {
    storage = Storage(element, json, encodingFailure)
  }

  var json: JSONElement { storage.json }

  /// The reason why the element could not be encoded. Then ``json`` is null.
  var encodingFailure: String? { storage.encodingFailure }

  /// The element takes about as much memory as its text.
  var referencedBytes: Int { 64 + 2 * storage.json.referencedBytes }

  var differenceIdentifier: Element.DifferenceIdentifier { storage.element.differenceIdentifier }

  func encodingFailure(key: String?) -> String? { encodingFailure }

  func isContentEqual(to source: Self) -> Bool {
    json == source.json && encodingFailure == source.encodingFailure
  }
}

/// The encoding of elements as JSON.
///
/// Members are sorted by name. An element has the same text in each process, unless its encoding depends on hash values,
/// as the encoding of a `Set` does.
struct ElementEncoding: Sendable {
  private let key: String?
  private let encoder = JSONEncoder()

  /// - Parameters:
  ///   - key: The name of the member that identifies an element, if there is one.
  ///   - configure: A closure that configures the encoder.
  init(key: String?, configure: (JSONEncoder) -> Void) {
    self.key = key
    encoder.outputFormatting = .withoutEscapingSlashes
    encoder.dateEncodingStrategy = DateCoding.encoding
    configure(encoder)
    encoder.outputFormatting.remove(.prettyPrinted)
    encoder.outputFormatting.insert(.sortedKeys)
  }

  func encode<Element: Encodable>(_ element: Element) -> EncodedElement<Element> {
    do {
      return EncodedElement(
        element, try JSONElement(parsing: Array(encoder.encode(element)), key: key))
    } catch {
      return EncodedElement(element, .null, encodingFailure: Self.reason(error))
    }
  }

  private static func reason(_ error: any Error) -> String {
    guard case EncodingError.invalidValue(_, let context) = error else { return "\(error)" }
    let path = context.codingPath.map { key in
      key.intValue.map { "[\($0)]" } ?? ".\(key.stringValue)"
    }.joined()
    return path.isEmpty ? context.debugDescription : "at \(path): \(context.debugDescription)"
  }
}
