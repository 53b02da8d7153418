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

  private func open() throws(SystemError) -> Int32 {
    if path == SourceSpecification.standardInput { return STDIN_FILENO }
    let descriptor = path.withCString { Foundation.open($0, O_RDONLY | O_CLOEXEC) }
    if descriptor < 0 { throw SystemError(errno) }
    return descriptor
  }

  /// Appends the elements of further lines to the contents.
  private func show(
    _ bytes: ArraySlice<UInt8>, _ lines: inout PipeLines, isAtEnd: Bool = false
  ) throws(JSONElement.ParsingError) {
    let elements = try lines.parse(bytes)
    writer.publish(.appended(elements), diagnostics: lines.diagnostics(isAtEnd: isAtEnd))
  }
}

/// A parser of the lines of a pipe, which counts the lines that were skipped.
struct PipeLines {
  let name: String
  let options: SourceOptions
  var count = 0
  var skipped = SkippedLines()

  /// Returns the elements of further lines.
  mutating func parse(
    _ bytes: ArraySlice<UInt8>
  ) throws(JSONElement.ParsingError) -> [JSONElement] {
    var elements: [JSONElement] = []
    for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
      count += 1
      if JSONText.isBlank(line: line) { continue }
      do throws(JSONElement.ParsingError) {
        elements.append(try JSONElement(parsing: Array(line), key: options.key))
      } catch {
        var error = error
        error.position?.line = count
        if options.hasStrictLines { throw error }
        skipped.count += 1
        skipped.latest = error
      }
    }
    return elements
  }

  func diagnostics(isAtEnd: Bool) -> [SourceStatus.Diagnostic] {
    var remarks = skipped.diagnostic(path: name).map { [$0] } ?? []
    if isAtEnd, options.followsPipes {
      remarks.append(SourceStatus.Diagnostic(code: "ended", message: "the input has ended"))
    }
    return remarks
  }
}
