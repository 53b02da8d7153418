import FileSources
import Foundation
import ObservableCollections
import RemoteSources

/// The command `apply`: applies the events on standard input and prints the resulting elements.
struct Apply: Command {
  private let old: SourceSpecification?
  private var options: SourceOptions

  init(_ words: Arguments) throws(LivelistError) {
    try words.checkCount(...1, "takes at most one source")
    old = try words.operands.first.map { (old) throws(LivelistError) in
      try SourceSpecification(old)
    }
    options = words.options.sources
    // The offsets of the events count all lines.
    options.hasStrictLines = true
  }

  func run(_ output: Output) async throws(LivelistError) {
    let old = try await oldElements()
    let writer = SourceWriter(of: LinesDataSource.self)
    if let old { writer.publish(.whole(old)) }
    var list = FoldedList(
      writer, hasElements: old != nil,
      advice: "name the elements before it with livelist apply OLD")
    do throws(InputEventError) {
      try await list.apply(LineReader())
    } catch {
      throw .input(error.reason)
    }
    guard old != nil || list.revision != nil else {
      throw .input(
        "standard input has no initial event; pipe the output of livelist watch into this command, "
          + "or name the elements before the first change with livelist apply OLD")
    }
    if let error = list.status.error {
      Program.fail(
        "the source of the events has failed, and its last contents are printed: \(error.message)")
    }
    output.array(of: writer.collection.snapshot)
    // Exiting the process frees the memory faster than releasing all objects.
    Program.end()
  }

  private func oldElements() async throws(LivelistError) -> [JSONElement]? {
    guard let old else { return nil }
    let source = try old.open(options)
    let contents = try await source.loadedSnapshot(isComplete: true)
    source.reportFailure()
    return Array(contents)
  }
}
