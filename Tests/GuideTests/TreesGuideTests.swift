import Swappable
import TerminalViews
import TestSupport
import Testing

struct Folder: Hashable, Identifiable, Sendable, Differentiable {
  let id: String
  var parent: String?
}

/// The code of the guide "Show a tree, or many lists as one".
@Suite struct TreesGuideTests {
  @Test func `the guide's code is compiled here`() throws {
    let guide = try Guide("Trees")
    #expect(guide.code.count == 3)
    #expect(try guide.paragraphs(missingIn: #filePath) == [])
  }

  @Test @MainActor func `trees and lists of lists print what the guide says`() throws {
    let print = Printed()
    let folders = ArrayDataSource([
      Folder(id: "Music"), Folder(id: "Jazz", parent: "Music"), Folder(id: "Films"),
      Folder(id: "Bebop", parent: "Jazz"),
    ])
    let expansion = Property(OutlineRow<Folder>.Expansion())
    let rows = folders.outline(parent: \.parent, isExpanded: expansion)
    let observation = rows.observe { event in
      if case .change(let change) = event {
        print(change.changeset.summary)
        print(change.after.map { String(repeating: "  ", count: $0.depth) + $0.element.id })
      }
    }
    expansion.value["Music"] = true
    expansion.value = .all
    folders.update(identifiedBy: "Jazz") { $0.parent = "Films" }
    observation.dispose()

    @MainActor func makeList(on screen: TerminalScreen) -> TerminalListView<OutlineRow<Folder>> {
      TerminalListView(rows, columns: [TerminalColumn(outline: "Folder") { $0.id }]) { list in
        screen.show(list.frame(for: screen.size))
      }
    }

    @MainActor func press(_ key: TerminalKey, in list: TerminalListView<OutlineRow<Folder>>) {
      list.press(key, expanding: expansion)
      list.setNeedsDisplay()
    }

    folders.update(identifiedBy: "Jazz") { $0.parent = "Music" }
    expansion.value = OutlineRow<Folder>.Expansion(["Music"])
    var state = TerminalListState(
      columns: [TerminalColumn<OutlineRow<Folder>>(outline: "Folder") { $0.id }])
    state.resize(to: TerminalSize(rows: 4, columns: 20), hasStatus: false)
    state.apply(.initial(rows.snapshot, revision: 0))
    state.perform(.right, expanding: &expansion.value)
    for line in state.frame().lines {
      print(String(line.text.reversed().drop { $0 == " " }.reversed()))
    }

    let work = ArrayDataSource([Todo(id: 1, title: "Write")])
    let home = ArrayDataSource([Todo(id: 2, title: "Cook"), Todo(id: 3, title: "Rest")])
    let lists = ["work": work, "home": home]
    let names = ArrayDataSource(["work", "home"])
    let all = names.flatMap { lists[$0] ?? ArrayDataSource() }
    home.append(Todo(id: 4, title: "Sleep"))
    names.move(from: 0, to: 1)
    print(all.snapshot.map(\.title))
    #expect(try print.lines == Guide("Trees").output)
  }
}
