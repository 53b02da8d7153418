import FileSources

/// An event as it was read from a line.
enum ReadEvent {
  case initial(revision: Int, elements: [JSONElement])
  case change(ReadChange)
  /// How the source is doing; the message where it is failing.
  case status(state: String, message: String?)

  /// Reads a line that `EventLine` has written, or another program.
  ///
  /// - Parameter key: The field by which elements are known; nil for the whole element.
  init(_ line: [UInt8], key: String? = nil) throws(EventFault) {
    let event: JSONElement
    do throws(JSONError) {
      event = try JSONElement(parsing: line)
    } catch {
      throw EventFault("it is not JSON: \(error.reason)")
    }
    let fields = try EventFields(event, of: "the line", key: key)
    switch try fields.required("event").string {
    case "status":
      self = .status(
        state: try fields.required("state").string ?? "",
        message: try? fields.required("message").string)
    case "initial":
      self = .initial(
        revision: try fields.offset("revision"), elements: try fields.elements("elements"))
    case "change": self = .change(try ReadChange(fields))
    default:
      throw EventFault(
        "the member \"event\" is \(try fields.required("event")); "
          + "initial, change and status are understood")
    }
  }
}

/// A change with its elements, as it was read.
struct ReadChange {
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
  struct Move {
    let from: Int
    let to: Int
  }

  let since: Int
  let revision: Int
  let deletes: [Single]
  let inserts: [Single]
  let updates: [Update]
  let moves: [Move]

  init(_ fields: EventFields) throws(EventFault) {
    since = try fields.offset("since")
    revision = try fields.offset("revision")
    guard revision > since else {
      throw EventFault("its revision \(revision) is not greater than its since, \(since)")
    }
    deletes = try fields.list("deletes", of: "a delete") { (fields) throws(EventFault) in
      Single(offset: try fields.offset("at"), element: try fields.element("element"))
    }
    inserts = try fields.list("inserts", of: "an insert") { (fields) throws(EventFault) in
      Single(offset: try fields.offset("at"), element: try fields.element("element"))
    }
    updates = try fields.list("updates", of: "an update") { (fields) throws(EventFault) in
      Update(
        from: try fields.offset("from"), to: try fields.offset("at"),
        old: try fields.element("old"), new: try fields.element("element"))
    }
    moves = try fields.list("moves", of: "a move") { (fields) throws(EventFault) in
      Move(from: try fields.offset("from"), to: try fields.offset("to"))
    }
  }
}

/// Why a line is not an event that can be folded.
struct EventFault: Error {
  let reason: String

  init(_ reason: String) {
    self.reason = reason
  }
}

/// The members of an object, by name.
struct EventFields {
  private let members: [String: JSONElement]
  private let owner: String
  private let key: String?

  /// - Parameter key: The field by which the list's elements are known.
  init(_ object: JSONElement, of owner: String, key: String?) throws(EventFault) {
    self.key = key
    guard let members = object.members else {
      throw EventFault("\(owner) is no object")
    }
    self.members = Dictionary(members.map { ($0.name, $0.value) }) { _, last in last }
    self.owner = owner
  }

  func required(_ name: String) throws(EventFault) -> JSONElement {
    guard let value = members[name] else {
      throw EventFault("\(owner) has no member \"\(name)\"")
    }
    return value
  }

  func offset(_ name: String) throws(EventFault) -> Int {
    let value = try required(name)
    guard let number = value.integer, number >= 0 else {
      throw EventFault("the member \"\(name)\" of \(owner) is no whole number from 0")
    }
    return number
  }

  /// An element of the list.
  func element(_ name: String) throws(EventFault) -> JSONElement {
    let value = try required(name)
    guard let key else { return value }
    do throws(JSONError) {
      return try JSONElement(parsing: value.utf8, key: key)
    } catch {
      throw EventFault("the member \"\(name)\" of \(owner): \(error.reason)")
    }
  }

  /// Elements of the list.
  func elements(_ name: String) throws(EventFault) -> [JSONElement] {
    let value = try required(name)
    do throws(JSONError) {
      if let items = try value.items(key: key) { return items }
    } catch {
      throw EventFault("the member \"\(name)\" of \(owner): \(error.reason)")
    }
    throw EventFault("the member \"\(name)\" of \(owner) is no array")
  }

  func list<Item>(
    _ name: String, of kind: String, _ read: (EventFields) throws(EventFault) -> Item
  ) throws(EventFault) -> [Item] {
    var items: [Item] = []
    guard let list = try? required(name).items() else {
      _ = try required(name)
      throw EventFault("the member \"\(name)\" of \(owner) is no array")
    }
    for element in list { items.append(try read(EventFields(element, of: kind, key: key))) }
    return items
  }
}
