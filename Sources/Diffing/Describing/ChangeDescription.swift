/// A change as a person reads it: a line for each element, and a summary.
///
/// ```
/// > [5] → [1] Todo(id: 8, title: "Write")
/// ~ [2] 5: title: "Tset" → "Test", isDone: false → true
/// + [3] Todo(id: 9, title: "Rest")
/// - [7] Todo(id: 3, title: "Ship")
/// 1 inserted, 1 deleted, 1 updated, 1 moved
/// ```
///
/// The lines stand in the order of the collection, a deletion where its element was. Offsets are those
/// in the new version, those of a deletion and of a move's origin those in the old one. An element that
/// was moved and updated is one line, `> [5] → [1] 8: title: …`.
///
/// The fields of an updated element are found by reflection, those of a field that is a value with
/// fields too; an element that conforms to ``ChangeDescribable`` names its own. Long values are
/// shortened to where they differ, and control characters are shown as escapes, so that no element can
/// do harm to a terminal.
public struct ChangeDescription: Sendable, Hashable {
  /// What a description looks like.
  public struct Style: Sendable, Hashable {
    /// How many lines there are at most, the summary not counted; `nil` for all.
    public var lineLimit: Int? { didSet { lineLimit = lineLimit.map { max(0, $0) } } }
    /// How many characters of an element or a value are shown at most.
    public var valueLength: Int { didSet { valueLength = max(0, valueLength) } }
    /// How many fields of an updated element are shown at most.
    public var fieldLimit: Int { didSet { fieldLimit = max(0, fieldLimit) } }
    /// Whether lines are coloured by the escapes of terminals.
    public var isColoured: Bool

    /// Creates a style. Negative numbers count as zero.
    ///
    /// - Parameters:
    ///   - lineLimit: How many lines there are at most; `nil` for all.
    ///   - valueLength: How many characters of an element or a value are shown at most.
    ///   - fieldLimit: How many fields of an updated element are shown at most.
    ///   - isColoured: Whether lines are coloured by the escapes of terminals.
    public init(
      lineLimit: Int? = 20, valueLength: Int = 80, fieldLimit: Int = 8, isColoured: Bool = false
    ) {
      self.lineLimit = lineLimit.map { max(0, $0) }
      self.valueLength = max(0, valueLength)
      self.fieldLimit = max(0, fieldLimit)
      self.isColoured = isColoured
    }
  }

  /// The lines, each without a line feed.
  public let lines: [String]
  /// How many lines are left out.
  public let omittedCount: Int
  /// How much changed, for example `3 inserted, 1 moved`.
  public let summary: String

  /// Describes a change.
  ///
  /// - Parameters:
  ///   - changeset: The change.
  ///   - old: The version that the changeset was made from.
  ///   - new: The version that it leads to.
  ///   - style: How much is told, and how.
  /// - Complexity: O(*k*) in the *k* offsets of the changeset; elements are looked at for the lines
  ///   that are told.
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
  /// The lines, how many are left out, and the summary.
  public var description: String {
    let rest = omittedCount > 0 ? ["… \(omittedCount) more"] : []
    return (lines + rest + [summary]).joined(separator: "\n")
  }
}

extension Changeset {
  /// How much changed in numbers, for example `3 inserted, 1 moved`.
  public var summary: String {
    let parts = [
      (insertions.count, "inserted"), (deletions.count, "deleted"), (updates.count, "updated"),
      (moves.count, "moved"),
    ]
    let told = parts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
    return told.isEmpty ? "nothing changed" : told.joined(separator: ", ")
  }
}
