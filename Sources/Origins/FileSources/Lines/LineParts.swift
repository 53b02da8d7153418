import Diffing
import FileWatching
import ObservableCollections

/// Lines next to each other that were read, without their text.
struct LinePart: Sendable {
  /// The range of their bytes in the file.
  private(set) var range: Range<Int>
  /// A hasher to which their bytes were given.
  private var hasher: Hasher
  private(set) var lineCount: Int
  private(set) var elementCount: Int
  private(set) var skipped: SkippedLines
  /// The names of the columns before the part, or `nil` if it begins with the header.
  let columnsBefore: [[UInt8]]?
  /// The names of the columns of the rows that follow.
  private(set) var columns: [[UInt8]]?

  init(
    _ bytes: ArraySlice<UInt8>, at position: Int, lineCount: Int = 0, elementCount: Int = 0,
    skipped: SkippedLines = SkippedLines(), after columnsBefore: [[UInt8]]? = nil,
    columns: [[UInt8]]? = nil
  ) {
    self.columnsBefore = columnsBefore
    (range, hasher) = (position..<position + bytes.count, Hasher())
    (self.lineCount, self.elementCount) = (lineCount, elementCount)
    (self.skipped, self.columns) = (skipped, columns)
    bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
  }

  /// Adds the lines of the part that follows. A log that grows line by line must not have a part for each line.
  ///
  /// - Parameter bytes: The bytes of the next part.
  mutating func append(_ next: LinePart, _ bytes: ArraySlice<UInt8>) {
    range = range.lowerBound..<next.range.upperBound
    bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    lineCount += next.lineCount
    elementCount += next.elementCount
    skipped.append(next.skipped)
    columns = next.columns
  }

  /// Returns the part at another place.
  ///
  /// - Parameters:
  ///   - position: The offset of the part.
  ///   - lines: The number of lines by which it has moved.
  func moved(to position: Int, by lines: Int) -> LinePart {
    var part = self
    part.range = position..<position + range.count
    part.skipped.latest?.position?.line += lines
    return part
  }

  /// Returns a Boolean value that indicates whether a file has the same bytes at a place.
  func isIn(_ file: OpenedFile, at position: Int) throws(ReadFailure) -> Bool {
    let bytes = try file.bytes(from: position, count: range.count).mapError(ReadFailure.init).get()
    if bytes.count < range.count { return false }
    return LinePart(bytes[...], at: position).hasher.finalize() == hasher.finalize()
  }
}

/// The lines of the previous version of a file, to find those that the next version begins and ends with.
struct KnownLines<Element: Differentiable & Sendable> {
  private let parts: [LinePart]
  private let elements: Snapshot<Element>
  private let oldSize: Int
  private let newSize: Int
  /// The numbers of the parts, lines and elements that are behind.
  private var done = (parts: 0, lines: 0, elements: 0)
  /// The distance by which the parts after the difference have moved, or `nil` before the difference.
  private var shift: Int?

  /// Creates the lines before a cursor.
  ///
  /// - Parameters:
  ///   - cursor: The end of the previous version.
  ///   - elements: Its elements.
  ///   - size: The size of the next version.
  init(before cursor: LineCursor, _ elements: Snapshot<Element>, size: Int64) {
    (parts, self.elements) = (cursor.parts, elements)
    (oldSize, newSize) = (Int(cursor.stamp.size), Int(size))
  }

  /// The offset in the file at which unchanged parts follow, or its end.
  var limit: Int {
    guard let shift, done.parts < parts.count else { return newSize }
    return parts[done.parts].range.lowerBound + shift
  }

  /// Returns the part at a position and its elements, if the part is unchanged.
  ///
  /// - Parameters:
  ///   - position: The position.
  ///   - lineCount: The number of lines before it.
  ///   - columns: The names of the columns before it.
  ///   - file: The file.
  mutating func part(
    at position: Int, linesBefore lineCount: Int, columns: [[UInt8]]?, in file: OpenedFile
  ) throws(ReadFailure) -> (part: LinePart, elements: Snapshot<Element>.SubSequence)? {
    if shift == nil, done.parts < parts.count {
      let part = parts[done.parts]
      var isSame = part.range.lowerBound == position
      if isSame { isSame = try part.isIn(file, at: position) }
      if !isSame { try findEnd(from: position, in: file) }
    }
    guard done.parts < parts.count,
      case let part = parts[done.parts], part.range.lowerBound + (shift ?? 0) == position
    else { return nil }
    // The same bytes have another meaning behind another header, or as the header.
    guard part.columnsBefore == columns else {
      done.parts = parts.count
      return nil
    }
    let old = done
    skipPart()
    return (
      part.moved(to: position, by: lineCount - old.lines), elements[old.elements..<done.elements]
    )
  }

  /// Gives up the next part: the line before it continues in it.
  mutating func skipPart() {
    done.elements += parts[done.parts].elementCount
    done.lines += parts[done.parts].lineCount
    done.parts += 1
  }

  /// Gives up the parts that follow if their rows have other columns.
  mutating func check(_ columns: [[UInt8]]?) {
    if columns != parts.last?.columns { done.parts = parts.count }
  }

  /// Finds the parts at the end that are unchanged.
  private mutating func findEnd(from position: Int, in file: OpenedFile) throws(ReadFailure) {
    let shift = newSize - oldSize
    var first = parts.count
    while first > done.parts {
      let part = parts[first - 1]
      // Zeros between two parts belong to none.
      guard first == parts.count || part.range.upperBound == parts[first].range.lowerBound,
        part.range.lowerBound + shift >= position,
        try part.isIn(file, at: part.range.lowerBound + shift)
      else { break }
      first -= 1
    }
    self.shift = shift
    while done.parts < first { skipPart() }
  }
}
