import ReactiveSignals
import TestSupport
import TestTags
import Testing

@Suite(.tags(.concurrency)) struct PropertyTests {
  @Test func `an observer receives the current value, and then each value that is set`() {
    let property = Property("Ada")
    let log = Log<String>()
    let observation = property.observe { log.append($0) }
    property.value = "Grace"
    property.value = "Grace"
    #expect(log.value == ["Ada", "Grace", "Grace"])
    #expect(property.value == "Grace")
    withExtendedLifetime(observation) {}
  }

  @Test func `a value set inside an observer is visible immediately and delivered later`() {
    let property = Property(0)
    let log = Log<String>()
    let observations = [
      property.observe { value in
        if value == 1 {
          property.value = 2
          log.append("read \(property.value)")
        }
        log.append("a\(value)")
      },
      property.observe { log.append("b\($0)") },
    ]
    property.value = 1
    #expect(log.value == ["a0", "b0", "read 2", "a1", "b1", "a2", "b2"])
    withExtendedLifetime(observations) {}
  }

  @Test func `modifying on many threads loses nothing`() {
    let property = Property(0)
    onThreads(4) { _ in for _ in 0..<1000 { property.modify { $0 += 1 } } }
    #expect(property.value == 4000)
  }

  @Test func `a body that throws changes nothing and sends nothing`() {
    struct Refused: Error {}
    let property = Property([1])
    let log = Log<[Int]>()
    let observation = property.observe { log.append($0) }
    #expect(throws: Refused.self) {
      try property.modify { value in
        value.append(2)
        throw Refused()
      }
    }
    #expect(log.value == [[1]])
    #expect(property.modify { $0.removeLast() } == 1)
    #expect(log.value == [[1], []])
    withExtendedLifetime(observation) {}
  }

  @Test func `a value that a throwing body releases may set the property`() async {
    await #expect(processExitsWith: .success) {
      struct Refused: Error {}
      final class Value: Sendable {
        let onDeinit: @Sendable () -> Void
        init(_ onDeinit: @escaping @Sendable () -> Void = {}) { self.onDeinit = onDeinit }
        deinit { onDeinit() }
      }
      let property = Property(Value())
      let next = Value()
      try? property.modify { value in
        value = Value { property.value = next }
        throw Refused()
      }
      precondition(property.value === next)
    }
  }

  @Test func `setting a property inside its own modify traps`() async {
    await #expect(processExitsWith: .failure) {
      let property = Property(0)
      property.modify { _ in property.value = 1 }
    }
  }

  @Test func `an observation keeps the property alive`() {
    let log = Log<Int>()
    weak var weakProperty: Property<Int>?
    var observation: Disposable?
    do {
      let property = Property(1)
      weakProperty = property
      observation = property.observe { log.append($0) }
    }
    #expect(weakProperty != nil)
    observation?.dispose()
    #expect(weakProperty == nil)
  }

  @Test func `a replaced value is released`() {
    let property = Property(Token())
    weak let first = property.value
    let observation = property.observe { _ in }
    property.value = Token()
    #expect(first == nil)
    withExtendedLifetime(observation) {}
  }

  @Test func `a modification that throws inside a transaction is no event`() {
    let property = Property(1)
    let values = Log<Int>([])
    let observation = property.observe { values.append($0) }
    withTransaction {
      try? property.modify { value in
        value = 2
        throw Refusal()
      }
      #expect(property.value == 1)
    }
    #expect(values.value == [1])
    withTransaction {
      try? property.modify { value in
        value = 2
        throw Refusal()
      }
      property.modify { $0 += 2 }
    }
    #expect(values.value == [1, 3])
    withExtendedLifetime(observation) {}
  }

  @Test func `a draft value that is released may set its property`() async {
    await #expect(processExitsWith: .success) {
      let property = Property<Token?>(nil)
      let count = Shared(0)
      withTransaction {
        property.value = Token {
          count.modify { $0 += 1 }
          property.value = nil
        }
        property.value = Token()
      }
      precondition(count.value == 1 && property.value == nil)
    }
  }
}
