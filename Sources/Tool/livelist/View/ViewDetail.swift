import FileSources
import ObservableCollections
import SwappablePrimitives
import TerminalViews

/// All members of an element with their full values.
struct ViewDetail: Equatable {
  /// The line of the list that has the element.
  let line: ViewLine.Identifier
  private(set) var element: JSONElement
  /// The names of the members that have changed a moment ago.
  private(set) var changed: Set<ByteString> = []
  private(set) var isGone = false
  /// The lines for a number of columns, which can be many.
  private var layout: Layout?

  private struct Layout: Equatable {
    let columns: Int
    let lines: [TerminalLine]
  }

  init(_ element: JSONElement, in line: ViewLine.Identifier) {
    self.element = element
    self.line = line
  }

  /// Follows a change of the element.
  ///
  /// - Parameters:
  ///   - new: The element, or `nil` if the list contains it no longer.
  ///   - isMarked: A Boolean value that indicates whether its row is marked as updated.
  mutating func follow(_ new: JSONElement?, isMarked: Bool) {
    isGone = new == nil
    let old = element
    var changed = isMarked ? changed : []
    element = new ?? old
    if isMarked, element != old {
      let oldValues = ViewDetail.values(of: old)
      for (name, value) in ViewDetail.values(of: element) where value != oldValues[name] {
        changed.insert(name)
      }
    }
    if element != old || changed != self.changed { layout = nil }
    self.changed = changed
  }

  /// Returns the values of the members by their names. Of several members with a name, it is the last one.
  private static func values(of element: JSONElement) -> [ByteString: JSONElement] {
    Dictionary(element.members?.map { (ByteString($0.name), $0.value) } ?? []) { $1 }
  }

  mutating func lines(columns: Int) -> [TerminalLine] {
    if let layout, layout.columns == columns { return layout.lines }
    let members = element.members ?? [(ViewColumns.valueTitle, element)]
    let entries = members.map { name, value in
      ViewPager.Entry(
        label: name, text: ViewDetail.text(of: value),
        mark: changed.contains(ByteString(name)) ? .updated : nil)
    }
    let lines = ViewPager.lines(of: entries, columns: columns)
    layout = Layout(columns: columns, lines: lines)
    return lines
  }

  /// Returns the lines of a value. The lines of a string end with their line breaks.
  static func text(of value: JSONElement) -> [(indent: Int, line: String)] {
    guard let string = value.string else { return indented(value) }
    var lines = string.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
      .map { String($0) }
    for number in lines.indices.dropLast() { lines[number] += "\n" }
    if lines.count > 1, lines.last?.isEmpty == true { lines.removeLast() }
    return lines.map { (0, $0) }
  }

  /// Returns the lines of a JSON value, with each member and each value of an array on its own line.
  private static func indented(_ value: JSONElement) -> [(indent: Int, line: String)] {
    var lines: [(indent: Int, line: String)] = []
    var (line, indent, depth) = ([UInt8](), 0, 0)
    var (isInString, isEscaped) = (false, false)
    func endLine() {
      lines.append((indent, String(decoding: line, as: UTF8.self)))
      (line, indent) = ([], 2 * depth)
    }
    var previous: UInt8 = 0
    for byte in value.utf8 {
      let isAfterOpening = previous == UInt8(ascii: "{") || previous == UInt8(ascii: "[")
      let isClosing = byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]")
      if !isInString {
        if isClosing { depth -= 1 }
        if isAfterOpening != isClosing { endLine() }
      }
      line.append(byte)
      previous = isInString ? 0 : byte
      if isInString {
        isInString = isEscaped || byte != UInt8(ascii: "\"")
        isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
        continue
      }
      switch byte {
      case UInt8(ascii: "\""): isInString = true
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: ","): endLine()
      case UInt8(ascii: ":"): line.append(UInt8(ascii: " "))
      default: break
      }
    }
    endLine()
    return lines
  }
}
