import DataSourceTesting
import Observation
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// Counts the changes that are reported for one tracked read.
private func track(_ log: Log<String>, _ name: String = "changed", _ read: () -> Void) {
  withObservationTracking(read) {
    log.append(name)
  }
}

/// Rule T10, for properties.
@Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct TrackingTests {
  private let log = Log<String>()

  @Test func `a tracked read reports one change once`() {
    let property = Property(1)
    track(log) { _ = property.value }
    #expect(log.value == [])
    property.value = 2
    #expect(log.value == ["changed"])
    property.value = 3
    #expect(log.value == ["changed"])
  }

  @Test func `an onChange closure reads the new value`() {
    let property = Property(1)
    let values = Log<Int>()
    withObservationTracking {
      values.append(property.value)
    } onChange: {
      values.append(property.value)
    }
    property.value = 2
    #expect(values.value == [1, 2])
  }

  @Test func `an onChange closure that reads again is called for the next change`() {
    let property = Property(0)
    let values = Log<Int>()
    @Sendable func follow() {
      withObservationTracking {
        values.append(property.value)
      } onChange: {
        follow()
      }
    }
    follow()
    for value in 1...5 { property.value = value }
    #expect(values.value == [0, 1, 2, 3, 4, 5])
  }

  @Test func `an onChange closure may set the property, and this is reported, too`() {
    let property = Property(0)
    let observed = Log<Int>()
    let observation = property.observe { observed.append($0) }
    @Sendable func follow() {
      withObservationTracking {
        _ = property.value
      } onChange: {
        if property.value < 3 { property.value += 1 }
        follow()
      }
    }
    follow()
    property.value = 1
    #expect(observed.value == [0, 1, 2, 3])
    withExtendedLifetime(observation) {}
  }

  @Test func `views of a property are tracked, too`() {
    let property = Property((name: "Ada", age: 36))
    track(log, "readOnly") { _ = property.readOnly.value }
    track(log, "map") { _ = property.map(\.age).value }
    let projection = property.projection(\.name)
    track(log, "projection") { _ = projection.value }
    let mapped = property.map(\.name).map(\.count)
    track(log, "mapped twice") { _ = mapped.value }
    property.modify { $0.age += 1 }
    #expect(log.value.sorted() == ["map", "mapped twice", "projection", "readOnly"])
  }

  @Test func `an onChange closure reads the new value of a mapped property`() {
    let property = Property(1)
    let double = property.map { $0 * 2 }
    let values = Log<Int>()
    withObservationTracking {
      values.append(double.value)
    } onChange: {
      values.append(double.value)
    }
    property.value = 2
    #expect(values.value == [2, 4])
  }

  @Test func `setting, observing and modifying are no reads`() {
    let property = Property(1)
    track(log) {
      property.value = 2
      property.modify { $0 += 1 }
      property.observe { _ in }.dispose()
    }
    property.value = 4
    #expect(log.value == [])
  }

  @Test func `a read that is not tracked reports nothing`() {
    let (one, other) = (Property(1), Property(1))
    _ = other.value
    track(log) { _ = one.value }
    other.value = 2
    #expect(log.value == [])
  }

  @Test func `a change is reported before observers are called`() {
    let property = Property(1)
    let observation = property.observe { [log] in log.append("\($0)") }
    track(log) { _ = property.value }
    property.value = 2
    #expect(log.value == ["1", "changed", "2"])
    withExtendedLifetime(observation) {}
  }

  @Test func `a tracked property is not kept alive`() {
    weak var released: Property<Int>?
    do {
      let property = Property(1)
      released = property
      track(log) { [property] in _ = property.value }
    }
    #expect(released == nil)
    #expect(log.value == [])
  }

  @Test func `an onChange closure is released with the property`() {
    weak var released: Token?
    do {
      let (property, token) = (Property(1), Token())
      released = token
      withObservationTracking {
        _ = property.value
      } onChange: {
        withExtendedLifetime(token) {}
      }
      #expect(released != nil)
    }
    #expect(released == nil)
  }

  @Test func `an Observations sequence has the latest value`() async {
    guard #available(macOS 26, iOS 26, *) else { return }
    let property = Property(0)
    // Set the property on the actor that reads it: `Observations` may miss a change made elsewhere.
    await Task { @MainActor in
      var seen: [Int] = []
      for await value in Observations({ property.value }) {
        seen.append(value)
        if value == 3 { break }
        property.value += 1
      }
      #expect(seen == [0, 1, 2, 3])
    }.value
  }
}

@Suite(.tags(.concurrency)) struct TrackingConcurrencyTests {
  @Test func `reading and setting on several threads ends with the latest value`() {
    let property = Property(0)
    let double = property.map { $0 * 2 }
    let told = Log<Int>()
    @Sendable func follow() {
      withObservationTracking {
        _ = property.value + double.value
      } onChange: {
        told.append(property.value)
        follow()
      }
    }
    onThreads(4) { _ in
      follow()
      for _ in 0..<500 { property.modify { $0 += 1 } }
    }
    #expect(property.value == 2000 && double.value == 4000)
    let count = told.value.count
    follow()
    property.value = 0
    #expect(told.value.count > count)
  }

  @Test func `a change is reported to all threads that read first at the same time`() {
    let properties = (0..<2000).map { Property($0) }
    let told = Log<Int>()
    onThreads(2) { _ in
      for property in properties {
        withObservationTracking {
          _ = property.value
        } onChange: {
          told.append(property.value)
        }
      }
    }
    for property in properties { property.value = -1 }
    #expect(told.value.count == 2 * properties.count)
  }

  @Test func `a change by another thread after the tracking is never missed`() {
    for _ in 0..<500 {
      let property = Property(0)
      let told = Log<Int>()
      withObservationTracking {
        _ = property.value
      } onChange: {
        told.append(property.value)
      }
      onThreads(3) { property.value = $0 + 1 }
      #expect(told.value.count == 1 && told.value != [0])
    }
  }
}
