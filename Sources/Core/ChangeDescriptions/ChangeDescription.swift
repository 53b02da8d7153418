public import Diffing

/// A human-readable description of a change, with a line for each element and a summary.
///
/// ```
/// > [5] → [1] Todo(id: 8, title: "Write")
/// ~ [2] 5: title: "Tset" → "Test", isDone: false → true
/// + [3] Todo(id: 9, title: "Rest")
/// - [7] Todo(id: 3, title: "Ship")
/// 1 inserted, 1 deleted, 1 updated, 1 moved
/// ```
///
/// The lines are in the order of the collection, with each deletion at its old place. Offsets are
/// offsets in the new version, except for deletions and origins of moves. An element that is moved
/// and updated has one line, `> [5] → [1] 8: title: …`.
///
/// The fields of an updated element, and their nested fields, are found by reflection. An element
/// that conforms to ``ChangeDescribable`` returns its own fields. Long values are shortened to the
/// part that differs. Control characters are escaped, because they could control a terminal.
public struct ChangeDescription: Sendable, Hashable {
  /// The options of a description.
  public struct Style: Sendable, Hashable {
    /// The maximum number of lines without the summary, or `nil` for all lines.
    public var lineLimit: Int? { didSet { lineLimit = lineLimit.map { max(0, $0) } } }
    /// The maximum number of characters of an element or a value.
    public var valueLength: Int { didSet { valueLength = max(0, valueLength) } }
    /// The maximum number of fields of an updated element.
    public var fieldLimit: Int { didSet { fieldLimit = max(0, fieldLimit) } }
    /// A Boolean value that indicates whether the lines contain terminal color codes.
    public var isColored: Bool

    /// Creates a style. Negative numbers are treated as zero.
    ///
    /// - Parameters:
    ///   - lineLimit: The maximum number of lines without the summary, or `nil` for all lines.
    ///   - valueLength: The maximum number of characters of an element or a value.
    ///   - fieldLimit: The maximum number of fields of an updated element.
    ///   - isColored: A Boolean value that indicates whether the lines contain terminal color
    ///     codes.
    public init(
      lineLimit: Int? = 20, valueLength: Int = 80, fieldLimit: Int = 8, isColored: Bool = false
    ) {
      self.lineLimit = lineLimit.map { max(0, $0) }
      self.valueLength = max(0, valueLength)
      self.fieldLimit = max(0, fieldLimit)
      self.isColored = isColored
    }
  }

  /// The lines, without line feeds.
  public let lines: [String]
  /// The number of lines that are left out.
  public let omittedCount: Int
  /// The numbers of changes, for example `3 inserted, 1 moved`.
  public let summary: String

  /// Creates the description of a change.
  ///
  /// - Parameters:
  ///   - changeset: The change.
  ///   - old: The version before the change.
  ///   - new: The version after the change.
  ///   - style: The options of the description.
  /// - Complexity: O(*k*) in the *k* offsets of the changeset. Only elements in the resulting lines
  ///   are read.
  public init<Element>(
    _ changeset: Changeset, from old: some RandomAccessCollection<Element>,
    to new: some RandomAccessCollection<Element>, style: Style = Style()
  ) {
    var lines: [String] = []
    omittedCount = changeset.describe(from: old, to: new, style: style) { lines.append($0) }
    self.lines = lines
    summary = changeset.summary
  }
}

extension ChangeDescription: CustomStringConvertible {
  /// The lines, the number of omitted lines, and the summary.
  public var description: String {
    let rest = omittedCount > 0 ? ["… \(omittedCount) more"] : []
    return (lines + rest + [summary]).joined(separator: "\n")
  }
}

extension ChangeDescription {
  /// Returns the text of an element in the form that a line of a description has.
  package static func text(of element: Any) -> String {
    ChangeLineWriter(style: Style()).text(of: element)
  }
}

extension Changeset {
  /// Describes the change line by line.
  ///
  /// - Parameters:
  ///   - old: The version before the change.
  ///   - new: The version after the change.
  ///   - style: The options of the description.
  ///   - body: A closure that receives each line, without a line feed.
  /// - Returns: The number of lines that are left out.
  package func describe<Element>(
    from old: some RandomAccessCollection<Element>, to new: some RandomAccessCollection<Element>,
    style: ChangeDescription.Style, _ body: (String) -> Void
  ) -> Int {
    let writer = ChangeLineWriter(style: style)
    var count = 0
    forEachInOrder { change in
      count += 1
      if let limit = style.lineLimit, count > limit { return }
      switch change {
      case .deletion(let offset):
        body(writer.line("-", "[\(offset)]", old.element(at: offset)))
      case .insertion(let offset):
        body(writer.line("+", "[\(offset)]", new.element(at: offset)))
      case .update(let update):
        body(
          writer.updateLine(
            "~", "[\(update.to)]", old.element(at: update.from), new.element(at: update.to)))
      case .move(let move, let isUpdated):
        let (source, element) = (old.element(at: move.from), new.element(at: move.to))
        // The element has as many elements before it as before, but not the same ones.
        let remark = move.from == move.to ? " (past others)" : ""
        let place = "[\(move.from)] → [\(move.to)]\(remark)"
        body(
          isUpdated
            ? writer.updateLine(">", place, source, element)
            : writer.moveLine(">", place, element))
      }
    }
    return style.lineLimit.map { max(0, count - $0) } ?? 0
  }

  /// The change of one element.
  private enum Single {
    case deletion(Int)
    case insertion(Int)
    case update(Update)
    case move(Move, isUpdated: Bool)
  }

  /// Calls a closure for each changed element, in the order of the new version, with each deletion
  /// at its old place.
  ///
  /// The elements that stay have the same order in both versions. Each change is placed by the
  /// number of such elements before it.
  private func forEachInOrder(_ body: (Single) -> Void) {
    let removals = removals
    var (deletion, removal) = (0, 0)
    var (insertion, move, update) = (0, 0, 0)

    /// Visits the deletions that have at most `rank` staying elements before them.
    func visitDeletions(behind rank: Int) {
      while deletion < deletions.count {
        let offset = deletions[deletion]
        while removal < removals.count, removals[removal] < offset { removal += 1 }
        guard offset - removal <= rank else { return }
        body(.deletion(offset))
        deletion += 1
      }
    }

    while true {
      let inserted = insertion < insertions.count ? insertions[insertion] : .max
      let moved = move < moves.count ? moves[move].to : .max
      let updated = update < updates.count ? updates[update].to : .max
      let offset = min(inserted, moved, updated)
      guard offset < .max else { break }
      visitDeletions(behind: offset - insertion - move)
      if offset == inserted {
        body(.insertion(offset))
        insertion += 1
      } else if offset == moved {
        let isUpdated = offset == updated
        body(.move(moves[move], isUpdated: isUpdated))
        move += 1
        update += isUpdated ? 1 : 0
      } else {
        body(.update(updates[update]))
        update += 1
      }
    }
    visitDeletions(behind: .max)
  }
}

struct ChangeLineWriter {
  let style: ChangeDescription.Style

  private enum Color: String {
    case red = "31"
    case green = "32"
    case yellow = "33"
    case blue = "34"
  }

  private static let colors: [String: Color] = ["-": .red, "+": .green, "~": .yellow, ">": .blue]

  /// Returns the line of an insertion or a deletion.
  func line(_ sign: String, _ place: String, _ element: Any) -> String {
    colored("\(sign) \(place) \(text(of: element))", Self.colors[sign])
  }

  /// Returns the text of a whole element.
  func text(of element: Any) -> String {
    guard let element = element as? any ChangeDescribable else {
      return shown(ValueFormatter.text(of: element))
    }
    let text = shown(element.changeText)
    guard let label = element.changeLabel else { return text }
    return shown(label) + (text.isEmpty ? "" : ": " + text)
  }

  func moveLine(_ sign: String, _ place: String, _ element: Any) -> String {
    let text =
      if let element = element as? any ChangeDescribable {
        element.changeLabel ?? element.changeText
      } else {
        ValueFormatter.text(of: element)
      }
    return "\(colored("\(sign) \(place)", Self.colors[sign])) \(shown(text))"
  }

  func updateLine<Element>(
    _ sign: String, _ place: String, _ old: Element, _ new: Element
  ) -> String {
    let label =
      if let element = new as? any ChangeDescribable {
        element.changeLabel
      } else {
        (new as? any Differentiable).flatMap { identity(of: $0) }
      }
    let fields = ChangeDescription.changedFields(from: old, to: new)
    var text = colored("\(sign) \(place)", Self.colors[sign]) + " "
    if let label { text += shown(label) + ": " }
    return text + (fields.isEmpty ? wholeChange(old, new) : list(fields))
  }

  /// Returns the text of the element's identity, or `nil` if the element is its own identity.
  private func identity<Element: Differentiable>(of element: Element) -> String? {
    let identity = element.differenceIdentifier
    return identity is Element ? nil : ValueFormatter.text(of: identity)
  }

  private func list(_ fields: [ChangeDescription.FieldChange]) -> String {
    let texts = fields.prefix(style.fieldLimit).map { field in
      "\(shown(field.name)): \(pair(field.old ?? "none", field.new ?? "none"))"
    }
    let rest = fields.count - texts.count
    return texts.joined(separator: ", ") + (rest > 0 ? ", and \(rest) more" : "")
  }

  /// Returns the change of an element that has no known changed field.
  private func wholeChange(_ old: Any, _ new: Any) -> String {
    func text(_ element: Any) -> String {
      (element as? any ChangeDescribable)?.changeText ?? ValueFormatter.text(of: element)
    }
    let (old, new) = (text(old), text(new))
    // Compare the bytes, because strings of different scalars can be equal.
    let isSame = old.utf8.elementsEqual(new.utf8)
    return isSame ? shown(new) + ", no visible difference" : pair(old, new)
  }

  // MARK: Text

  private func pair(_ old: String, _ new: String) -> String {
    let (old, new) = ValueFormatter.shortened(old, new, to: style.valueLength)
    return "\(colored(old, .red)) → \(colored(new, .green))"
  }

  private func shown(_ text: String) -> String {
    ValueFormatter.shortened(text, to: style.valueLength)
  }

  private func colored(_ text: String, _ color: Color?) -> String {
    guard style.isColored, let color else { return text }
    return "\u{1B}[\(color.rawValue)m\(text)\u{1B}[0m"
  }
}

/// An element with a custom text in descriptions of changes.
///
/// Most types do not need this protocol, because ``ChangeDescription`` finds their fields by
/// reflection.
public protocol ChangeDescribable {
  /// The name of the element, which begins each of its lines, or `nil` if `changeText` is enough.
  var changeLabel: String? { get }

  /// The text of the element, which follows the label if the element is inserted or deleted.
  ///
  /// It is empty if the element has nothing but its label.
  var changeText: String { get }

  /// Returns the fields that differ from an earlier value.
  ///
  /// - Parameter old: The earlier value.
  /// - Returns: The fields in display order. If the result is empty, the description shows the
  ///   whole values.
  func changedFields(from old: Self) -> [ChangeDescription.FieldChange]
}

extension ChangeDescription {
  /// A field of an element whose value has changed.
  public struct FieldChange: Sendable, Hashable {
    /// The name of the field. A nested field has a path of names, separated by periods.
    public let name: String
    /// The old value, or `nil` if the field did not exist.
    public let old: String?
    /// The new value, or `nil` if the field no longer exists.
    public let new: String?

    /// Creates a field change.
    ///
    /// - Parameters:
    ///   - name: The name of the field.
    ///   - old: The old value, or `nil` if the field did not exist.
    ///   - new: The new value, or `nil` if the field no longer exists.
    public init(name: String, old: String?, new: String?) {
      self.name = name
      self.old = old
      self.new = new
    }
  }

  /// Returns the fields that differ between two versions of an element.
  package static func changedFields<Element>(
    from old: Element, to new: Element
  ) -> [FieldChange] {
    (new as? any ChangeDescribable)?.changedFields(fromAny: old)
      ?? ReflectedFields.changes(from: old, to: new)
  }
}

extension ChangeDescribable {
  /// Returns the fields that differ from an earlier value of unknown type, or `nil` if it has another type.
  fileprivate func changedFields(fromAny old: Any) -> [ChangeDescription.FieldChange]? {
    (old as? Self).map { changedFields(from: $0) }
  }
}
