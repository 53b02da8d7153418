import DataSourceTesting
import Diffing
import ObservableCollections
import SwappableSources
import TerminalViews
import TestSupport
import TestTags
import Testing

@MainActor @Suite(.tags(.concurrency), .timeLimit(.minutes(10)))
struct TerminalListConcurrencyTests {
  @Test(.reaches(.changes)) func `a list follows sources that threads edit and swap`() async throws
  {
    let sources = (0..<3).map { number in
      ArrayDataSource((0..<200).map { TestElement($0, number) })
    }
    let container = SwappableContainer(sources[0])
    let changes = RecordingObserver(counting: container)
    var writer = FrameWriter()
    var display = TerminalModel(rows: 20, columns: 30)
    display.show("\u{1B}[?7l")
    let size = TerminalSize(rows: 20, columns: 30)
    let list = TerminalListView(
      container,
      columns: [
        TerminalColumn("Key") { "\($0.id)" }, TerminalColumn("Content") { "\($0.content)" },
      ],
      markDuration: .zero, framesPerSecond: 1000
    ) { list in display.show(writer.bytes(for: list.frame(for: size))) }

    await withTaskGroup { group in
      for (number, source) in sources.enumerated() {
        group.addTask {
          var editor = RandomEditor(seed: UInt64(number), size: 200)
          for _ in 0..<300 { try? editor.step(source) }
        }
      }
      group.addTask {
        for step in 0..<200 { _ = await container.swap(to: sources[step % 3]).outcome }
      }
      // Meanwhile, the user moves the selection.
      for step in 0..<300 {
        list.perform(step.isMultiple(of: 7) ? .pageDown : .up)
        display.show(writer.bytes(for: list.frame(for: size)))
        await Task.yield()
      }
    }
    await container.flush()
    Coverage.note(changes)
    #expect(list.state.contents.hasSameContents(as: container.snapshot))
    let frame = list.frame(for: size)
    display.show(writer.bytes(for: frame))
    for (shown, line) in zip(display.lines, frame.lines) {
      #expect(shown == String(line.text.reversed().drop { $0 == " " }.reversed()))
    }
    #expect(display.complaints.isEmpty)
  }
}
