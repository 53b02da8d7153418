import ObservableCollections
import ReactiveSignals
import RemoteSources
import TerminalViews

/// The command `explain`: prints how a source is kept in step, and why.
struct Explain: Command {
  private let specification: SourceSpecification
  private var options: SourceOptions

  init(_ words: Arguments) throws(LivelistError) {
    specification = try SourceSpecification(operands: words, allowing: .list)
    options = words.options.sources
    options.followsPipes = true
  }

  func run(_ output: Output) async throws(LivelistError) {
    let source = try await specification.openWhenThere(options)
    let work = source.countWork()
    _ = try await source.loadedSnapshot(waiting: options.wait)
    source.reportFailure()
    let explanation = withExtendedLifetime(work) { source.explain() }
    output.line { line in
      for text in "\(explanation)".split(separator: "\n", omittingEmptySubsequences: false) {
        line.append(TerminalText.printable(String(text)) + "\n")
      }
    }
  }
}
