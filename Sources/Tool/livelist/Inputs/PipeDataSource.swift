import Diffing
import FileSources
import Foundation
import ObservableCollections
import SwappablePrimitives
import Synchronization

/// A data source that reads a pipe or standard input, which can be read only once.
///
/// A JSON array is shown when it is complete. Lines are shown when they arrive if the source is followed, and
/// otherwise when the input ends.
final class PipeDataSource: DataSource {
  private let writer: SourceWriter<JSONElement>
  private let path: ByteString
  private let name: String
  private let format: SourceSpecification.Format?
  private let options: SourceOptions
  private let isStarted = Atomic(false)

  /// - Parameters:
  ///   - path: The path of the pipe.
  ///   - format: The format, or `nil` if it depends on the contents.
  ///   - options: The key, the treatment of lines that are not valid, and whether lines are followed.
  init(path: ByteString, format: SourceSpecification.Format?, _ options: SourceOptions) {
    self.path = path
    self.format = format
    self.options = options
    name = path == SourceSpecification.standardInput ? "standard input" : path.description
    writer = SourceWriter(of: PipeDataSource.self, location: name)
    writer.setMode(
      "read once",
      reason: options.followsPipes && (format == nil || format == .jsonLines)
        ? "Each line is shown when it arrives." : nil)
  }

  var collection: LiveCollection<JSONElement> { writer.collection }

  func start() {
    if isStarted.exchange(true, ordering: .sequentiallyConsistent) { return }
    writer.show(.loading)
    // The thread reads until the input ends or the program exits.
    Thread.detachNewThread { [self] in
      do {
        try load()
      } catch {
        writer.show(.failed(failure(error)))
      }
    }
  }

  private func failure(_ error: any Error) -> SourceError {
    let parsing = error as? JSONElement.ParsingError
    let reason = (error as? SystemError)?.message ?? "\(error)"
    return SourceError(
      code: parsing.map { "json-\($0.code)" } ?? "pipe", message: "cannot read \(name): \(reason)")
  }

  private func load() throws {
    let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let descriptor = try open()
    defer { if path != SourceSpecification.standardInput { close(descriptor) } }
    if case .rows(let delimiter) = format { return try loadRows(delimiter, from: descriptor) }
    var bytes: [UInt8] = []
    var format = format
    var lines = PipeLines(name: name, options: options)
    if options.followsPipes, format == .jsonLines { writer.publish(.whole([])) }
    while case let start = bytes.count, try bytes.append(readingFrom: descriptor) {
      // A byte order mark may arrive before the text, and in parts.
      if format == nil, !byteOrderMark.starts(with: bytes),
        SourceSpecification.Format.firstByte(of: bytes) != nil
      {
        format = SourceSpecification.Format(startingWith: bytes) ?? .jsonLines
      }
      guard format == .jsonLines, options.followsPipes,
        let end = bytes[start...].lastIndex(of: UInt8(ascii: "\n"))
      else { continue }
      try show(bytes[..<end], &lines)
      bytes.removeSubrange(...end)
    }
    if case .document(let pointer) = format {
      bytes = try pointer.list(in: bytes, spreadsMembers: options.spreadsMembers).text
      format = .json
    }
    if format == .json {
      writer.publish(
        .whole(try JSONElement.elements(ofArray: bytes, key: options.key)),
        diagnostics: lines.diagnostics(isAtEnd: true))
    } else {
      try show(bytes[...], &lines, isAtEnd: true)
    }
  }

  /// Parses rows when they arrive, so a quote that is not closed does not fill the memory.
  private func loadRows(_ delimiter: Character, from descriptor: Int32) throws {
    var rows = CSVStream(
      delimiter: delimiter, key: options.key, hasNumbers: options.hasNumbers,
      isStrict: options.hasStrictLines)
    var bytes: [UInt8] = []
    var elements: [JSONElement] = []
    var isAtEnd = false
    if options.followsPipes { writer.publish(.whole([])) }
    while !isAtEnd {
      isAtEnd = try !bytes.append(readingFrom: descriptor)
      elements += try rows.takeElements(from: &bytes, isAtEnd: isAtEnd)
      guard isAtEnd || options.followsPipes && !elements.isEmpty else { continue }
      let lines = PipeLines(name: name, options: options, skipped: rows.skipped)
      publish(elements, diagnostics: lines.diagnostics(isAtEnd: isAtEnd))
      elements = []
    }
  }

  private func open() throws(SystemError) -> Int32 {
    if path == SourceSpecification.standardInput { return STDIN_FILENO }
    let descriptor = path.withCString { Foundation.open($0, O_RDONLY | O_CLOEXEC) }
    if descriptor < 0 { throw SystemError(errno) }
    return descriptor
  }

  /// Appends elements to the contents, and removes the oldest ones if only the newest are kept.
  private func publish(_ elements: [JSONElement], diagnostics: [SourceStatus.Diagnostic]) {
    var contents = SourceWriter<JSONElement>.Contents.appended(elements)
    let count = writer.collection.snapshot.count
    if case .keep(let limit) = options.rotation, count + elements.count > limit {
      let added = Array(elements.suffix(limit))
      let kept = limit - added.count
      let changeset = Changeset(
        deletions: Array(0..<(count - kept)), insertions: Array(kept..<limit))
      contents = .changed(changeset, inserted: added, updated: [])
    }
    writer.publish(contents, diagnostics: diagnostics)
  }

  /// Appends the elements of further lines to the contents.
  private func show(
    _ bytes: ArraySlice<UInt8>, _ lines: inout PipeLines, isAtEnd: Bool = false
  ) throws(JSONElement.ParsingError) {
    let elements = try lines.parse(bytes, isAtEnd: isAtEnd)
    publish(elements, diagnostics: lines.diagnostics(isAtEnd: isAtEnd))
  }
}

/// A parser of the lines of a pipe or a command, which counts the lines that were skipped.
///
/// A value may take several lines, as `jq` and `kubectl get -w -o json` print it.
struct PipeLines {
  /// The most bytes of a value that takes several lines.
  private static let valueLimit = 64 << 20

  /// A value whose end follows.
  private struct OpenValue {
    var text: [UInt8] = []
    /// The error of its first line, if it has no end.
    let error: JSONElement.ParsingError
    private var depth = 0
    private var isInString = false

    init(_ line: ArraySlice<UInt8>, _ error: JSONElement.ParsingError) {
      self.error = error
      append(line)
    }

    var isComplete: Bool { depth <= 0 && !isInString }

    /// A Boolean value that indicates whether a value may begin the next line.
    var expectsValue: Bool {
      let last = text.last { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
      return last.map { ",:[".utf8.contains($0) } ?? true
    }

    mutating func append(_ line: ArraySlice<UInt8>) {
      var isEscaped = false
      for byte in line {
        switch byte {
        case _ where isEscaped: isEscaped = false
        case UInt8(ascii: "\\") where isInString: isEscaped = true
        case UInt8(ascii: "\""): isInString.toggle()
        case UInt8(ascii: "{") where !isInString, UInt8(ascii: "[") where !isInString: depth += 1
        case UInt8(ascii: "}") where !isInString, UInt8(ascii: "]") where !isInString: depth -= 1
        default: break
        }
      }
      text += line + [0x0A]
    }
  }

  let name: String
  let options: SourceOptions
  var count = 0
  var skipped = SkippedLines()
  private var open: OpenValue?

  init(name: String, options: SourceOptions, skipped: SkippedLines = SkippedLines()) {
    (self.name, self.options, self.skipped) = (name, options, skipped)
  }

  /// Returns the elements of further lines.
  ///
  /// - Parameter isAtEnd: A Boolean value that indicates whether no lines follow.
  mutating func parse(
    _ bytes: ArraySlice<UInt8>, isAtEnd: Bool
  ) throws(JSONElement.ParsingError) -> [JSONElement] {
    var elements: [JSONElement] = []
    for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
      count += 1
      let isStart = line.first == UInt8(ascii: "{") || line.first == UInt8(ascii: "[")
      if var value = open {
        open = nil
        // A value without an end must not hide those after it.
        if isStart && !value.expectsValue || value.text.count + line.count > Self.valueLimit {
          try skip(value.error)
        } else {
          value.append(line)
          if value.isComplete { try add(value.text, to: &elements) } else { open = value }
          continue
        }
      }
      if JSONText.isBlank(line: line) { continue }
      do throws(JSONElement.ParsingError) {
        elements.append(try JSONElement(parsing: Array(line), key: options.key))
      } catch {
        var error = error
        error.position?.line = count
        let value = OpenValue(line, error)
        let isContainer = line.first { ![0x20, 0x09, 0x0D].contains($0) }
          .map { "{[".utf8.contains($0) }
        if error.code == .truncated, isContainer == true, !value.isComplete {
          open = value
        } else {
          try skip(error)
        }
      }
    }
    if isAtEnd, let value = open {
      open = nil
      try skip(value.error)
    }
    return elements
  }

  private mutating func add(
    _ text: [UInt8], to elements: inout [JSONElement]
  ) throws(JSONElement.ParsingError) {
    do throws(JSONElement.ParsingError) {
      elements.append(try JSONElement(parsing: text, key: options.key))
    } catch {
      var error = error
      error.position?.line = count
      try skip(error)
    }
  }

  private mutating func skip(_ error: JSONElement.ParsingError) throws(JSONElement.ParsingError) {
    if options.hasStrictLines { throw error }
    skipped.count += 1
    skipped.latest = error
  }

  func diagnostics(isAtEnd: Bool) -> [SourceStatus.Diagnostic] {
    var remarks = skipped.diagnostic(path: name).map { [$0] } ?? []
    if isAtEnd, options.followsPipes {
      remarks.append(SourceStatus.Diagnostic(code: "ended", message: "the input has ended"))
    }
    return remarks
  }
}
