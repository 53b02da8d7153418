import Swappable
import TestSupport
import Testing

/// The code of the guides "Select elements of a list" and "Do work for each element".
@Suite(.timeLimit(.minutes(10))) struct EverydayListsGuideTests {
  struct Device: Identifiable, Sendable, Differentiable {
    let id: Int
    var name: String
    let level = Property(0)

    func isContentEqual(to source: Device) -> Bool {
      name == source.name && level === source.level
    }
  }

  struct DeviceRow: Hashable, Identifiable, Sendable, Differentiable {
    let id: Int
    let name: String
    let level: Int
  }

  final class Levels: Sendable {
    private let properties = Property<[Int: Property<Int>]>([:])

    func level(of id: Int) -> Property<Int> {
      properties.modify { properties in
        let level = properties[id] ?? Property(0)
        properties[id] = level
        return level
      }
    }
  }

  @Test(arguments: [("Selections", 3), ("WorkForEachElement", 5)])
  func `the guides' code is compiled here`(name: String, count: Int) throws {
    let guide = try Guide(name)
    #expect(guide.code.count == count)
    #expect(try guide.paragraphs(missingIn: #filePath) == [])
  }

  @Test func `a selection prints what the guide says`() throws {
    let print = Printed()
    let todos = ArrayDataSource([
      Todo(id: 1, title: "Write"), Todo(id: 2, title: "Test"), Todo(id: 3, title: "Ship"),
    ])
    let list = SwappableContainer<Todo>(todos)
    let selection = list.selection()
    let observation = selection.selected.observe { event in
      print("selected:", event.snapshot.map(\.title))
    }
    selection.select(3)
    selection.toggle(1)
    todos.update(identifiedBy: 3) { $0.title = "Ship it" }
    list.swap(to: ArrayDataSource([Todo(id: 3, title: "Ship it"), Todo(id: 4, title: "Rest")]))
    print(selection.unselected.snapshot.map(\.title), selection.count.value)
    observation.dispose()

    let query = Property("")
    let found = todos.filter(by: query) { $0.title.contains($1) || $1.isEmpty }
    let chosen = found.selection(whenGone: .remember)
    chosen.select(1)
    query.value = "Ship"
    print(chosen.count.value)
    query.value = ""
    print(chosen.selected.snapshot.map(\.title))

    let current = todos.selection(.singleOrNeighbor)
    current.select(1)
    current.select(2)
    todos.remove(identifiedBy: 2)
    print(current.selected.snapshot.map(\.title))
    #expect(try print.lines == Guide("Selections").output)
  }

  @Test func `work for each element prints what the guide says`() throws {
    let print = Printed()
    let devices = ArrayDataSource([Device(id: 1, name: "lamp"), Device(id: 2, name: "fan")])
    let work = devices.forEach(lifetime: { device in
      device.level.observe { level in print(device.name, level) }
    })
    devices[1].level.value = 7
    devices.append(Device(id: 3, name: "door"))
    devices.move(from: 2, to: 0)
    devices.removeAll()
    work.dispose()

    let subscriptions = devices.forEach(
      lifetime: { device in device.level.observe { _ in } },
      update: { old, new in old.level === new.level })

    let polling = devices.runTask { device in
      while (try? await Task.sleep(for: .seconds(60))) != nil {
        device.level.modify { $0 += 1 }
      }
    }

    devices.append(Device(id: 4, name: "pump"))
    devices.append(Device(id: 5, name: "heater"))
    let rows = devices.map(each: \.level) { device, level in
      DeviceRow(id: device.id, name: device.name, level: level)
    }
    let active = devices.filter(byEach: \.level) { device, level in level > 0 }
    let sum = rows.live.sum(of: \.level)
    let sorted = devices.sorted(byEach: \.level)
    devices[0].level.value = 3
    for handle in [subscriptions, polling] { handle.dispose() }
    print(rows.snapshot.map(\.level), sum.value)
    print(active.snapshot.map(\.name), sorted.snapshot.map(\.name))
    #expect(try print.lines == Guide("WorkForEachElement").output)

    let levels = Levels()
    #expect(levels.level(of: 1) === levels.level(of: 1))
    #expect(levels.level(of: 1) !== levels.level(of: 2))
  }
}
