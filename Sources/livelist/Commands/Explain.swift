import ObservableCollections
import ReactiveSignals
import RemoteSources
import TerminalViews

/// The command `explain`: prints how a source is kept in step, and why.
struct Explain {
  let options: ExplainOptions
  let output: Output

  func run() async throws(LivelistError) {
    let source = try options.source.open(options.sources)
    let work = source.countWork()
    _ = try await source.loadedSnapshot()
    let explanation = withExtendedLifetime(work) { source.explain() }
    output.line { line in
      for text in "\(explanation)".split(separator: "\n", omittingEmptySubsequences: false) {
        line.append(TerminalText.printable(String(text)) + "\n")
      }
    }
  }
}
