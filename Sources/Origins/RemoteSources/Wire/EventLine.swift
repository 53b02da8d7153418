package import Diffing
package import FileSources
package import ObservableCollections

/// An element that is written in event lines.
package protocol EventElement: Differentiable, Sendable {
  var json: JSONElement { get }
  /// Returns the reason why the element cannot be sent, or `nil`.
  ///
  /// - Parameter key: The name of the member that identifies an element, if there is one.
  func encodingFailure(key: String?) -> String?
}

extension JSONElement: EventElement {
  package var json: JSONElement { self }

  package func encodingFailure(key: String?) -> String? {
    guard let key, keyName != key else { return nil }
    do throws(JSONElement.ParsingError) {
      _ = try JSONElement(parsing: utf8, key: key)
      return nil
    } catch {
      return error.reason
    }
  }
}

/// The format of events for other programs: one line of JSON for each event.
package enum EventLine {
  /// Appends an `initial` line.
  ///
  /// - Parameters:
  ///   - key: The name of the member that identifies an element, if there is one.
  ///   - token: The token of the revision, if the line is sent by a feed.
  ///   - failure: The name of the state and the message, if the source has failed or is missing.
  package static func appendInitial(
    _ elements: Snapshot<some EventElement>, revision: Int, key: String? = nil,
    token: String? = nil, failure: Failure? = nil, to line: inout LineBuffer
  ) {
    line.reserve { elements.reduce(256) { $0 + $1.json.utf8.count + 1 } }
    line.append("{\"event\":\"initial\",\"revision\":", revision)
    if let key { line.appendMember("key", key) }
    if let token { line.appendMember("token", token) }
    append(failure, to: &line)
    line.append(",\"elements\":")
    append(elements, to: &line) { element, line in line.append(element.json.utf8) }
    line.append("}\n")
  }

  /// Appends a `change` line.
  ///
  /// - Parameter token: The token of the revision after the change, if the line is sent by a feed.
  package static func append(
    _ change: CollectionChange<some EventElement>, token: String? = nil, to line: inout LineBuffer
  ) {
    line.append("{\"event\":\"change\",\"since\":", change.revisionBefore)
    line.append(",\"revision\":", change.revision)
    if let token { line.appendMember("token", token) }
    line.append(",\"deletes\":")
    append(change.deleted, to: &line) { append($0.element, at: $0.offset, to: &$1) }
    line.append(",\"inserts\":")
    append(change.inserted, to: &line) { append($0.element, at: $0.offset, to: &$1) }
    line.append(",\"updates\":")
    append(change.updated, to: &line) { update, line in
      line.append("{\"from\":", update.from)
      line.append(",\"at\":", update.to)
      line.append(",\"old\":", update.old.json)
      line.append(",\"element\":", update.new.json)
      line.append("}")
    }
    line.append(",\"moves\":")
    append(change.moved, to: &line) { move, line in
      line.append("{\"from\":", move.from)
      line.append(",\"to\":", move.to)
      line.append("}")
    }
    line.append("}\n")
  }

  /// Appends a status with a state and a message.
  package static func append(state: String, message: String?, to line: inout LineBuffer) {
    line.append("{\"event\":\"status\"")
    append((state, message), to: &line)
    line.append("}\n")
  }

  /// Appends a status that says that a change is held back, with the number of its operations.
  package static func append(
    _ changeset: Changeset, heldFor reason: String, to line: inout LineBuffer
  ) {
    line.append("{\"event\":\"status\"")
    append(("held", reason), to: &line)
    for (name, count) in [
      ("deletes", changeset.deletions.count), ("inserts", changeset.insertions.count),
      ("updates", changeset.updates.count), ("moves", changeset.moves.count),
    ] {
      line.append(",\"\(name)\":\(count)")
    }
    line.append("}\n")
  }

  /// Appends a line that says that the reader has the latest revision, or that it resumes.
  ///
  /// - Parameters:
  ///   - request: The token that the reader has sent, if the line is the answer.
  ///   - failure: The name of the state and the message, if the source has failed or is missing.
  static func appendAlive(
    since request: String? = nil, revision: Int, token: String, failure: Failure? = nil,
    to line: inout LineBuffer
  ) {
    line.append("{\"event\":\"alive\",\"revision\":", revision)
    if let request { line.appendMember("since", request) }
    line.appendMember("token", token)
    append(failure, to: &line)
    line.append("}\n")
  }

  /// Appends an error, after which the connection is closed.
  static func appendError(_ message: String, to line: inout LineBuffer) {
    line.append("{\"event\":\"error\"")
    line.appendMember("message", message)
    line.append("}\n")
  }

  /// The state of a source that has failed or is missing, which keeps its last contents.
  package typealias Failure = (state: String, message: String?)

  private static func append(_ failure: Failure?, to line: inout LineBuffer) {
    guard let failure else { return }
    line.appendMember("state", failure.state)
    if let message = failure.message { line.appendMember("message", message) }
  }

  private static func append(
    _ element: some EventElement, at offset: Int, to line: inout LineBuffer
  ) {
    line.append("{\"at\":", offset)
    line.append(",\"element\":", element.json)
    line.append("}")
  }

  private static func append<Item>(
    _ items: some Sequence<Item>, to line: inout LineBuffer,
    _ append: (Item, inout LineBuffer) -> Void
  ) {
    line.append("[")
    var isFirst = true
    for item in items {
      if !isFirst { line.append(",") }
      isFirst = false
      append(item, &line)
    }
    line.append("]")
  }
}

extension SourceStatus.State {
  /// The name of the state in status lines.
  package var name: String {
    switch self {
    case .idle: "idle"
    case .loading: "loading"
    case .loaded: "loaded"
    case .failed: "failed"
    case .missing: "missing"
    }
  }
}

/// The bytes of a line. They can be written in chunks while the line is made.
package struct LineBuffer {
  private static let chunkSize = 1 << 18

  /// The bytes that have not been written yet.
  package private(set) var bytes: [UInt8] = []
  private let write: (([UInt8]) -> Void)?

  /// Creates an empty buffer.
  ///
  /// - Parameter write: A closure that writes a large chunk. If it is `nil`, the buffer holds the whole line.
  package init(write: (([UInt8]) -> Void)? = nil) {
    self.write = write
    if write != nil { bytes.reserveCapacity(Self.chunkSize + Self.chunkSize / 4) }
  }

  /// Makes room for more bytes, unless they are written in chunks. A long line would otherwise be copied as it grows.
  mutating func reserve(_ count: () -> Int) {
    if write == nil { bytes.reserveCapacity(bytes.count + count()) }
  }

  package mutating func append(_ text: String) {
    bytes.append(contentsOf: text.utf8)
  }

  /// Appends a text, and the number that follows it.
  mutating func append(_ text: String, _ number: Int) {
    append(text)
    append(String(number))
  }

  /// Appends a text, and the element that follows it.
  mutating func append(_ text: String, _ element: JSONElement) {
    append(text)
    append(element.utf8)
  }

  package mutating func append(_ more: [UInt8]) {
    bytes.append(contentsOf: more)
    if bytes.count >= Self.chunkSize { flush() }
  }

  /// Appends a comma, a name, and a value that is a string.
  mutating func appendMember(_ name: String, _ value: String) {
    append(",\"\(name)\":")
    JSONText.append(value, to: &bytes)
  }

  /// Writes the buffered bytes, if the buffer writes chunks.
  package mutating func flush() {
    guard let write else { return }
    write(bytes)
    bytes.removeAll(keepingCapacity: true)
  }
}

/// The line with which a client asks for a list.
struct FeedRequest {
  let list: String
  /// The token to resume from, or `nil` to begin with an `initial` line.
  let token: String?

  init(list: String, token: String?) {
    (self.list, self.token) = (list, token)
  }

  /// Parses a line.
  init(_ line: [UInt8]) throws(InputEventError) {
    let object: JSONElement
    do throws(JSONElement.ParsingError) {
      object = try JSONElement(parsing: line)
    } catch {
      throw InputEventError(
        "the request is not valid JSON: \(error.reason); send one line, "
          + #"such as {"list":"NAME"}"#)
    }
    let fields = try EventFields(object, of: "the request", key: nil)
    guard let list = try fields.string("list") else {
      throw InputEventError(
        #"the request has no member "list"; send one line, such as {"list":"NAME"}"#)
    }
    self.list = list
    token = try fields.string("since")
  }

  /// The line, with its line break.
  var bytes: [UInt8] {
    var bytes = Array("{\"list\":".utf8)
    JSONText.append(list, to: &bytes)
    if let token {
      bytes += Array(",\"since\":".utf8)
      JSONText.append(token, to: &bytes)
    }
    return bytes + Array("}\n".utf8)
  }
}
