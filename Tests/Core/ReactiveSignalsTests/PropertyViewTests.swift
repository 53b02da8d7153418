import Dispatch
import Observation
import ReactiveSignals
import SwappablePrimitives
import Synchronization
import TestSupport
import TestTags
import Testing

@Suite struct PropertyViewTests {
  private struct Person: Sendable, Equatable {
    var name = "Ada"
    var address = Address()
  }

  private struct Address: Sendable, Equatable {
    var city = "London"
  }

  private let person = Property(Person())

  // MARK: map

  @Test func `a mapped property can be read immediately and follows its property`() {
    let property = Property(2)
    let (squared, log) = (property.map { $0 * $0 }, Log<Int>())
    #expect(squared.value == 4)
    property.value = 3
    #expect(squared.value == 9)
    let observation = squared.observe { log.append($0) }
    property.value = 4
    #expect(log.value == [9, 16])
    #expect(squared.map { "\($0)" }.value == "16")
    withExtendedLifetime(observation) {}
  }

  @Test func `a mapped property is correct while values are being delivered`() {
    let property = Property(0)
    let doubled = property.map { $0 * 2 }.map { $0 }
    let log = Log<[Int]>()
    let observations = [
      property.observe { value in
        if value == 1 { property.value = 2 }
        log.append([value, property.value, doubled.value])
      },
      doubled.observe { log.append([$0, property.value, doubled.value]) },
    ]
    property.value = 1
    #expect(
      log.value == [[0, 0, 0], [0, 0, 0], [1, 2, 4], [2, 2, 4], [2, 2, 4], [4, 2, 4]])
    withExtendedLifetime(observations) {}
  }

  @Test func `reading a mapped property does not transform again`() {
    let calls = Log<Int>()
    let property = Property(1)
    let mapped = property.map { value in
      calls.append(value)
      return value
    }
    for _ in 0..<3 { #expect(mapped.value == property.value) }
    property.value = 2
    for _ in 0..<3 { #expect(mapped.value == property.value) }
    #expect(calls.value == [1, 2])
  }

  @Test func `a view keeps its property alive`() {
    weak var property: Property<Int>?
    do {
      let made = Property(1)
      property = made
      let view = made.readOnly.map { $0 + 1 }
      #expect(view.value == 2)
      withExtendedLifetime(view) {}
    }
    #expect(property == nil)
  }

  // MARK: Projections

  @Test func `a value set in a projection is set in the whole`() {
    let city = person.projection(\.address.city)
    #expect(city.value == "London")
    city.value = "Turin"
    #expect(person.value == Person(name: "Ada", address: Address(city: "Turin")))
    #expect(city.modify { $0.removeFirst() } == "T")
    #expect(city.value == "urin")
    #expect(city.readOnly.value == "urin")
  }

  @Test func `a projection sends a value for each value of the whole`() {
    let (all, distinct) = (Log<String>(), Log<String>())
    let name = person.projection(\.name)
    let observations = [
      name.observe { all.append($0) },
      name.signal.removeDuplicates().observe { distinct.append($0) },
    ]
    name.value = "Grace"
    person.value.address.city = "Turin"
    #expect(all.value == ["Ada", "Grace", "Grace"])
    #expect(distinct.value == ["Ada", "Grace"])
    withExtendedLifetime(observations) {}
  }

  @Test func `a body that throws changes nothing`() {
    struct Refused: Error {}
    let name = person.projection(\.name)
    #expect(throws: Refused.self) {
      try name.modify { (name) throws(Refused) in
        name = "Grace"
        throw Refused()
      }
    }
    #expect(person.value == Person())
  }

  @Test func `a projection set inside an observer is delivered later`() {
    let (name, person, log) = (person.projection(\.name), person, Log<String>())
    let observations = [
      name.observe { value in
        if value == "1" { name.value = "2" }
        log.append("a\(value) \(person.value.name)")
      },
      name.observe { log.append("b\($0)") },
    ]
    name.value = "1"
    #expect(log.value == ["aAda Ada", "bAda", "a1 2", "b1", "a2 2", "b2"])
    withExtendedLifetime(observations) {}
  }

  // MARK: Binding

  private final class Label: Sendable {
    private let content = Locked("")
    var text: String {
      get { content.withLock { $0 } }
      set { content.withLock { $0 = newValue } }
    }
  }

  @MainActor private final class View {
    var text = ""
  }

  @Test func `a property follows another one until the binding is disposed`() {
    let (source, target) = (Property(1), Property(0))
    let binding = source.bind(to: target)
    #expect(target.value == 1)
    source.value = 2
    #expect(target.value == 2)
    binding.dispose()
    source.value = 3
    #expect(target.value == 2)
  }

  @Test func `binding a property to itself traps`() async {
    await #expect(processExitsWith: .failure) {
      let property = Property(1)
      _ = property.readOnly.bind(to: property)
    }
  }

  @Test func `a part of a property can follow a signal`() {
    let input = SignalInput<String>()
    let binding = input.bind(to: person.projection(\.address.city))
    input.send("Turin")
    #expect(person.value.address.city == "Turin")
    withExtendedLifetime(binding) {}
  }

  @Test func `a bound closure receives the values`() {
    let log = Log<Int>()
    let binding = Property(1).map { $0 + 1 }.bind(to: { log.append($0) })
    #expect(log.value == [2])
    withExtendedLifetime(binding) {}
  }

  @Test func `a key path of an object is written as long as the object lives`() {
    let input = SignalInput<String>()
    weak var weakLabel: Label?
    let binding: Disposable
    do {
      let label = Label()
      weakLabel = label
      binding = input.signal.map { $0.uppercased() }.bind(to: \.text, of: label)
      input.send("a")
      #expect(label.text == "A")
    }
    #expect(weakLabel == nil)
    input.send("b")
    withExtendedLifetime(binding) {}
  }

  @Test func `a binding does not keep its target alive`() {
    let source = Property("a")
    weak var weakTarget: Property<String>?
    weak var weakWhole: Property<Person>?
    let bindings: [Disposable]
    do {
      let (target, whole) = (Property(""), Property(Person()))
      (weakTarget, weakWhole) = (target, whole)
      bindings = [source.bind(to: target), source.bind(to: whole.projection(\.name))]
      #expect(target.value == "a" && whole.value.name == "a")
    }
    #expect(weakTarget == nil)
    #expect(weakWhole == nil)
    source.value = "b"
    withExtendedLifetime(bindings) {}
  }

  @Test func `a property and its views show their type and value, and are not tracked as read`() {
    let property = Property(Person())
    property.value.name = "Ada"
    let (name, changes) = (property.projection(\.name), Log<String>([]))
    withObservationTracking {
      #expect("\(name)" == "Projection<String>: Ada")
      #expect("\(property.map(\.name.count))" == "ReadOnlyProperty<Int>: 3")
      #expect("\(property)".hasPrefix("Property<Person>: Person("))
      var text = ""
      dump(Property(5), to: &text)
      #expect(text == "▿ Property<Int>: 5 #0\n  - value: 5\n")
    } onChange: {
      changes.append("changed")
    }
    name.value = "Grace"
    #expect(changes.value == [])
  }

  @Test @MainActor func `a key path of a view is written on the main actor`() async throws {
    let (property, view) = (Property("a"), View())
    let binding = property.bind(onMainActor: \View.text, of: view)
    try await wait(for: "the first text") { view.text == "a" }
    property.value = "b"
    try await wait(for: "the second text") { view.text == "b" }
    binding.dispose()
  }
}

@Suite(.tags(.concurrency)) struct PropertyViewConcurrencyTests {
  @Test func `a mapped property never goes back and never falls behind`() {
    let property = Property(0)
    let doubled = property.map { $0 * 2 }
    let failures = Atomic<Int>(0)
    onThreads(4) { thread in
      var last = 0
      for _ in 0..<500 {
        if thread < 2 { property.modify { $0 += 1 } }
        let before = property.value
        let value = doubled.value
        let after = property.value
        if !(before * 2...after * 2).contains(value) || value < last {
          failures.add(1, ordering: .relaxed)
        }
        last = value
      }
    }
    #expect(failures.load(ordering: .relaxed) == 0)
    #expect(doubled.value == 2000)
  }

  @Test func `projections set on many threads lose nothing`() {
    struct Counts: Sendable {
      var one = 0
      var other = 0
    }
    let counts = Property(Counts())
    let (one, other) = (counts.projection(\.one), counts.projection(\.other))
    onThreads(4) { thread in
      for _ in 0..<500 { (thread < 2 ? one : other).modify { $0 += 1 } }
    }
    #expect(one.value == 1000 && other.value == 1000)
  }
}
