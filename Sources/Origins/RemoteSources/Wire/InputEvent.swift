package import Diffing
package import FileSources
package import ObservableCollections

/// An event that was parsed from a line of input.
package enum InputEvent {
  case initial(InputContents)
  case change(InputChange)
  /// The status of the source, with a message if the source has failed.
  case status(state: String, message: String?)
  /// The reader of a feed has a revision: the latest one, or the one of the token that it has sent.
  ///
  /// The failure is the status of the source, if it has failed or is missing and the line is an answer.
  case alive(since: String?, revision: Int, token: String, failure: SourceStatus?)
  /// The server of a feed closes the connection.
  case error(message: String)

  /// Parses a line in the format of `EventLine`.
  ///
  /// - Parameters:
  ///   - key: The field that identifies elements. If it is `nil`, the field that an initial event names, or the whole
  ///     element.
  ///   - isKeyFixed: A Boolean value that indicates whether the key is used although an initial event names another one.
  package init(
    _ line: [UInt8], key: String? = nil, isKeyFixed: Bool = true
  ) throws(InputEventError) {
    let event: JSONElement
    do throws(JSONElement.ParsingError) {
      event = try JSONElement(parsingEvent: line)
    } catch {
      throw InputEventError("the line is not valid JSON: \(error.reason)")
    }
    var fields = try EventFields(event, of: "the line", key: key)
    switch try fields.required("event").string {
    case "status":
      self = .status(
        state: try fields.required("state").string ?? "",
        message: try fields.string("message"))
    case "initial":
      if key == nil || !isKeyFixed { fields.key = try fields.string("key") }
      self = .initial(try InputContents(fields))
    case "change": self = .change(try InputChange(fields))
    case "alive":
      self = .alive(
        since: try fields.string("since"), revision: try fields.offset("revision"),
        token: try fields.required("token").string ?? "", failure: try fields.failure())
    case "error": self = .error(message: try fields.string("message") ?? "")
    default:
      throw InputEventError(
        "the member \"event\" is \(short(try fields.required("event"))), "
          + "but must be \"initial\", \"change\", \"status\", \"alive\" or \"error\"")
    }
  }
}

/// The contents of a list, as they were parsed.
package struct InputContents {
  package let revision: Int
  /// The field that identifies elements, or `nil` for the whole element.
  let key: String?
  /// The token of the revision, if the event comes from a feed.
  package let token: String?
  /// The status of the source, if it has failed or is missing. The elements are its last contents.
  package let failure: SourceStatus?
  package let elements: [JSONElement]

  init(_ fields: EventFields) throws(InputEventError) {
    revision = try fields.offset("revision")
    key = fields.key
    token = try fields.string("token")
    failure = try fields.failure()
    elements = try fields.elements("elements")
  }
}

/// A change with its elements, as it was parsed. Its offsets are not checked yet.
package struct InputChange {
  struct Single {
    let offset: Int
    let element: JSONElement
  }
  struct Update {
    let from: Int
    let to: Int
    let old: JSONElement
    let new: JSONElement
  }

  let since: Int
  package let revision: Int
  /// The token of the revision, if the event comes from a feed.
  package let token: String?
  package var isEmpty: Bool {
    deletes.isEmpty && inserts.isEmpty && updates.isEmpty && moves.isEmpty
  }
  let deletes: [Single]
  let inserts: [Single]
  let updates: [Update]
  let moves: [Changeset.Move]

  init(_ fields: EventFields) throws(InputEventError) {
    since = try fields.offset("since")
    revision = try fields.offset("revision")
    guard revision > since else {
      throw InputEventError(
        "the member \"revision\" is \(revision), but must be greater than \"since\", \(since)")
    }
    token = try fields.string("token")
    deletes = try fields.list("deletes", of: "a deletion") { (fields) throws(InputEventError) in
      Single(offset: try fields.offset("at"), element: try fields.element("element"))
    }
    inserts = try fields.list("inserts", of: "an insertion") { (fields) throws(InputEventError) in
      Single(offset: try fields.offset("at"), element: try fields.element("element"))
    }
    updates = try fields.list("updates", of: "an update") { (fields) throws(InputEventError) in
      Update(
        from: try fields.offset("from"), to: try fields.offset("at"),
        old: try fields.element("old"), new: try fields.element("element"))
    }
    moves = try fields.list("moves", of: "a move") { (fields) throws(InputEventError) in
      Changeset.Move(from: try fields.offset("from"), to: try fields.offset("to"))
    }
  }
}

/// An error in an event: the line is not valid, or the event does not match the list.
package struct InputEventError: Error {
  package let reason: String
  /// The reason why the elements of a line do not fit the key of its reader, or `nil` for another error.
  private(set) var keyReason: String?
  /// A Boolean value that indicates whether the elements do not fit the type of the reader.
  private(set) var isAboutType = false

  package init(_ reason: String) {
    self.reason = reason
  }

  /// Creates the error of a member that cannot be read.
  init(_ member: String, _ error: JSONElement.ParsingError) {
    reason = "\(member): \(error.reason)"
    if error.code == .missingKey || error.code == .invalidKey { keyReason = error.reason }
  }

  /// Creates the error of an element that cannot be decoded.
  init(decoding type: Any.Type, _ error: ElementDecodingError) {
    reason = "the element \(error.offset) cannot be decoded as \(type): \(error.reason)"
    isAboutType = true
  }
}

/// The members of a JSON object in an event, by name.
struct EventFields {
  private let members: [String: JSONElement]
  private let owner: String
  /// The field that identifies the elements of the list, or `nil` for the whole element.
  var key: String?

  /// - Parameters:
  ///   - object: The object.
  ///   - owner: The name of the object in error messages.
  ///   - key: The field that identifies the elements of the list, or `nil` for the whole element.
  init(_ object: JSONElement, of owner: String, key: String?) throws(InputEventError) {
    self.key = key
    guard let members = object.members else {
      throw InputEventError("\(owner) is not a JSON object")
    }
    self.members = Dictionary(members.map { ($0.name, $0.value) }) { _, last in last }
    self.owner = owner
  }

  func required(_ name: String) throws(InputEventError) -> JSONElement {
    guard let value = members[name] else {
      throw InputEventError("\(owner) has no member \"\(name)\"")
    }
    return value
  }

  /// Returns a member that is a string, or `nil` if there is no such member.
  func string(_ name: String) throws(InputEventError) -> String? {
    guard let value = members[name] else { return nil }
    guard let string = value.string else {
      throw InputEventError(
        "the member \"\(name)\" of \(owner) is \(short(value)), but must be a string")
    }
    return string
  }

  /// Returns the status that the line reports beside contents, or `nil` if the source has not failed.
  func failure() throws(InputEventError) -> SourceStatus? {
    guard let state = try string("state") else { return nil }
    let status = SourceStatus(reported: state, try string("message"))
    return status.error == nil ? nil : status
  }

  func offset(_ name: String) throws(InputEventError) -> Int {
    let value = try required(name)
    guard let number = value.integer, number >= 0 else {
      throw InputEventError(
        "the member \"\(name)\" of \(owner) is \(short(value)), but must be a whole number of at least 0"
      )
    }
    return number
  }

  /// Returns a member that is an element of the list.
  func element(_ name: String) throws(InputEventError) -> JSONElement {
    let value = try required(name)
    guard let key else { return value }
    do throws(JSONElement.ParsingError) {
      return try JSONElement(parsing: value.utf8, key: key)
    } catch {
      throw InputEventError("the member \"\(name)\" of \(owner)", error)
    }
  }

  /// Returns a member that is an array of elements of the list.
  func elements(_ name: String) throws(InputEventError) -> [JSONElement] {
    let value = try required(name)
    do throws(JSONElement.ParsingError) {
      if let items = try value.items(key: key) { return items }
    } catch {
      throw InputEventError("the member \"\(name)\" of \(owner)", error)
    }
    throw InputEventError("the member \"\(name)\" of \(owner) is not an array")
  }

  /// Returns a member that is an array of objects, each converted by a closure.
  func list<Item>(
    _ name: String, of kind: String, _ read: (EventFields) throws(InputEventError) -> Item
  ) throws(InputEventError) -> [Item] {
    var items: [Item] = []
    guard let list = try? required(name).items() else {
      _ = try required(name)
      throw InputEventError("the member \"\(name)\" of \(owner) is not an array")
    }
    for element in list { items.append(try read(EventFields(element, of: kind, key: key))) }
    return items
  }
}

// MARK: Checking

extension InputChange {
  /// A change that matches the list, as a changeset with its new elements.
  package struct Checked {
    package let changeset: Changeset
    package let inserted: [JSONElement]
    package let updated: [JSONElement]
  }

  /// Throws an error if the change does not follow the event with a revision.
  package func checkContinues(from revision: Int) throws(InputEventError) {
    guard since == revision else {
      throw InputEventError(
        "the member \"since\" is \(since), but the previous event has revision \(revision): "
          + "events are missing or not in order")
    }
  }

  /// Checks the change against the list that it changes.
  ///
  /// - Parameter old: The elements before the change.
  /// - Throws: An error that names the first mismatch.
  /// - Complexity: O(k log k) for k operations, and k accesses to `old`.
  package func checked(
    against old: some RandomAccessCollection<JSONElement>
  ) throws(InputEventError) -> Checked {
    let checked = try checked(count: old.count)
    for delete in deletes {
      try Self.check(
        delete.element, is: old[at: delete.offset], at: delete.offset, "a deleted element")
    }
    for update in updates {
      try Self.check(
        update.old, is: old[at: update.from], at: update.from, "the old element of an update")
    }
    return checked
  }

  /// Checks the offsets of the change.
  ///
  /// - Parameter oldCount: The number of elements before the change.
  /// - Throws: An error that names the first mismatch.
  /// - Complexity: O(k log k) for k operations.
  func checked(count oldCount: Int) throws(InputEventError) -> Checked {
    try Self.checkAscending(deletes.map(\.offset), "deletes")
    try Self.checkAscending(inserts.map(\.offset), "inserts")
    try Self.checkAscending(moves.map(\.to), "moves")
    for delete in deletes { try Self.check(delete.offset, oldCount, "a deletion is at") }
    let count = oldCount - deletes.count + inserts.count
    for insert in inserts { try Self.check(insert.offset, count, "an insertion is at") }
    try checkMoves(oldCount: oldCount, newCount: count)
    let order = Changeset(
      deletions: deletes.map(\.offset), insertions: inserts.map(\.offset), moves: moves)
    try checkUpdates(order, oldCount: oldCount, newCount: count)
    return Checked(
      changeset: Changeset(
        deletions: order.deletions, insertions: order.insertions, moves: order.moves,
        updates: updates.map { Changeset.Update(from: $0.from, to: $0.to) }),
      inserted: inserts.map(\.element), updated: updates.map(\.new))
  }

  private func checkMoves(oldCount: Int, newCount: Int) throws(InputEventError) {
    var departures = Set(deletes.map(\.offset))
    var arrivals = Set(inserts.map(\.offset))
    for move in moves {
      try Self.check(move.from, oldCount, "a move is from")
      try Self.check(move.to, newCount, "a move is to")
      guard departures.insert(move.from).inserted, arrivals.insert(move.to).inserted else {
        throw InputEventError(
          "the move from \(move.from) to \(move.to) shares an offset with another move, "
            + "a deletion or an insertion"
        )
      }
    }
  }

  private func checkUpdates(
    _ order: Changeset, oldCount: Int, newCount: Int
  ) throws(InputEventError) {
    try Self.checkAscending(updates.map(\.to), "updates")
    let origins = OffsetMap(order.inverse)
    for update in updates {
      try Self.check(update.from, oldCount, "an update is from")
      try Self.check(update.to, newCount, "an update is at")
      let origin = origins[update.to]
      guard origin == update.from else {
        throw InputEventError(
          "an update goes from \(update.from) to \(update.to), but the element at \(update.to) "
            + (origin.map { "comes from \($0)" } ?? "is inserted"))
      }
    }
  }

  private static func check(_ offset: Int, _ count: Int, _ subject: String) throws(InputEventError)
  {
    guard offset < count else {
      throw InputEventError("\(subject) offset \(offset), which is out of range 0..<\(count)")
    }
  }

  private static func check(
    _ claimed: JSONElement, is present: JSONElement, at offset: Int, _ subject: String
  ) throws(InputEventError) {
    guard claimed == present else {
      throw InputEventError(
        "\(subject) at offset \(offset) is \(short(claimed)), "
          + "but the list has \(short(present)) there"
      )
    }
  }

  private static func checkAscending(_ offsets: [Int], _ name: String) throws(InputEventError) {
    for (one, next) in zip(offsets, offsets.dropFirst()) where one >= next {
      throw InputEventError(
        "the offsets of \"\(name)\" must be in ascending order, but \(next) follows \(one)")
    }
  }
}

/// Returns the JSON text of a value for an error message.
private func short(_ value: JSONElement) -> String {
  let text = value.description
  return text.count > 60 ? text.prefix(60) + "…" : text
}

extension RandomAccessCollection {
  fileprivate subscript(at offset: Int) -> Element { self[index(startIndex, offsetBy: offset)] }
}
