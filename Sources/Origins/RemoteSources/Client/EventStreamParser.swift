public import ObservableCollections

/// A parser for Server-Sent Events, the format `text/event-stream` of the HTML standard.
///
///     var parser = EventStreamParser()
///     for try await chunk in response.body {
///       for event in try parser.parse(chunk) { print(event.type, event.data) }
///     }
///
/// Chunks can end anywhere, even inside a character or a line ending. The parser returns an event when the empty line
/// after it arrives. If the stream ends before that line, the event is dropped, as the standard requires.
///
/// Use a new parser for each connection, and give it the last identifier of the connection before, which it continues:
///
///     parser = EventStreamParser(lastEventID: parser.lastEventID)
public struct EventStreamParser: Sendable {
  /// An event of the stream.
  public struct Event: Sendable, Hashable {
    /// The type, which is `message` if the event names none.
    public let type: String
    /// The lines of the data, joined by line feeds.
    public let data: String
    /// The last identifier in the stream up to the end of this event, or an empty string.
    public let id: String
  }

  /// The last identifier that took effect, also on an earlier connection, or an empty string.
  ///
  /// Send it as the header `Last-Event-ID` when you connect again. An identifier takes effect at the end of its event.
  /// That includes an event without data, which is not returned.
  public private(set) var lastEventID: String

  /// The time to wait before connecting again, or `nil` if the stream sets none.
  public private(set) var reconnectionTime: Duration?

  private let maximumEventSize: Int
  /// The bytes of the last line so far.
  private var line: [UInt8] = []
  /// A Boolean value that indicates whether no line has ended yet. Only the first line can begin with a byte order mark.
  private var isFirstLine = true
  /// A Boolean value that indicates whether the previous byte is a carriage return. A line feed after it ends no line.
  private var isAfterReturn = false
  /// The data lines of the event so far, each with a line feed.
  private var data: [UInt8] = []
  private var type = ""
  private var id: String
  /// The error that ended the stream.
  private var error: SourceError?

  /// Creates a parser for one connection.
  ///
  /// - Parameters:
  ///   - lastEventID: The last identifier of the previous connection, or an empty string. Events have it until the stream
  ///     sets another one.
  ///   - maximumEventSize: The maximum number of bytes of the data of an event, and of a line. The
  ///     default is 64 MiB. The parser may use a few times as much memory.
  public init(lastEventID: String = "", maximumEventSize: Int = 64 << 20) {
    precondition(
      maximumEventSize >= 1, "maximumEventSize must be at least 1, but is \(maximumEventSize)")
    self.maximumEventSize = maximumEventSize
    (self.lastEventID, id) = (lastEventID, lastEventID)
  }

  /// Parses the next bytes of the stream.
  ///
  /// - Parameter bytes: The bytes that follow the bytes of the previous call.
  /// - Returns: The events that are complete with these bytes.
  /// - Throws: An error if an event is too large. If other events are complete before it, this call returns them, and
  ///   the next call throws the error. After an error, each call throws it again.
  /// - Complexity: O(*n*) for *n* bytes, in chunks of any size.
  public mutating func parse(_ bytes: some Sequence<UInt8>) throws(SourceError) -> [Event] {
    if let error { throw error }
    var events: [Event] = []
    if bytes.withContiguousStorageIfAvailable({ consume($0, &events) }) == nil {
      Array(bytes).withUnsafeBufferPointer { consume($0, &events) }
    }
    if let error, events.isEmpty { throw error }
    return events
  }

  /// Splits bytes into lines, and keeps the last line for the next call if it has no end.
  private mutating func consume(_ bytes: UnsafeBufferPointer<UInt8>, _ events: inout [Event]) {
    var start = 0
    if isAfterReturn, bytes.first == lineFeed { start = 1 }
    if !bytes.isEmpty { isAfterReturn = false }
    while error == nil, start < bytes.count {
      let end = Self.lineEnd(in: bytes, from: start)
      let part = UnsafeBufferPointer(rebasing: bytes[start..<end])
      guard end < bytes.count else { return keep(part) }
      if line.isEmpty {
        endLine(part, &events)
      } else {
        keep(part)
        let whole = line
        line = []
        whole.withUnsafeBufferPointer { endLine($0, &events) }
      }
      start = end + 1
      guard bytes[end] == carriageReturn else { continue }
      if start == bytes.count {
        isAfterReturn = true
      } else if bytes[start] == lineFeed {
        start += 1
      }
    }
  }

  /// Returns the offset of the next line feed or carriage return, or the number of bytes.
  private static func lineEnd(in bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
    var end = start
    while end < bytes.count, bytes[end] != lineFeed, bytes[end] != carriageReturn { end &+= 1 }
    return end
  }

  /// Appends bytes to the line that has no end yet.
  private mutating func keep(_ part: UnsafeBufferPointer<UInt8>) {
    if checkSize(line.count + part.count) { line.append(contentsOf: part) }
  }

  /// Returns `false`, and ends the stream with an error, if a size is above the limit.
  private mutating func checkSize(_ size: Int) -> Bool {
    if size <= maximumEventSize { return true }
    error = SourceError(
      code: "size",
      message: "an event of the stream has more than \(maximumEventSize) bytes. "
        + "If the stream needs larger events, increase maximumEventSize.")
    (line, data) = ([], [])
    return false
  }

  // MARK: Lines

  /// Interprets a complete line.
  private mutating func endLine(
    _ bytes: UnsafeBufferPointer<UInt8>, _ events: inout [Event]
  ) {
    guard error == nil, checkSize(bytes.count) else { return }
    var line = bytes[...]
    if isFirstLine, line.starts(with: byteOrderMark) { line = line.dropFirst(3) }
    isFirstLine = false
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
      return line.isEmpty ? endEvent(&events) : setField(line, line[line.endIndex...])
    }
    var value = line[(colon + 1)...]
    if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
    setField(line[..<colon], value)
  }

  /// Interprets a field. The name of a comment is empty.
  private mutating func setField(
    _ name: Slice<UnsafeBufferPointer<UInt8>>, _ value: Slice<UnsafeBufferPointer<UInt8>>
  ) {
    switch String(decoding: name.prefix(6), as: UTF8.self) {
    case "data":
      guard checkSize(data.count + value.count) else { return }
      data.append(contentsOf: value)
      data.append(lineFeed)
    case "event": type = String(decoding: value, as: UTF8.self)
    case "id": if !value.contains(0) { id = String(decoding: value, as: UTF8.self) }
    case "retry":
      guard value.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
        let milliseconds = Int(String(decoding: value, as: UTF8.self))
      else { return }
      reconnectionTime = .milliseconds(milliseconds)
    default: break
    }
  }

  /// Ends an event at an empty line. An event without data is dropped.
  private mutating func endEvent(_ events: inout [Event]) {
    lastEventID = id
    if !data.isEmpty {
      let text = String(decoding: data.dropLast(), as: UTF8.self)
      events.append(Event(type: type.isEmpty ? "message" : type, data: text, id: id))
    }
    (data, type) = ([], "")
  }
}

private let lineFeed = UInt8(ascii: "\n")
private let carriageReturn = UInt8(ascii: "\r")
private let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
