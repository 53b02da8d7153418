import DataSourceTesting
import Observation
import ReactiveSignals
import SwappablePrimitives
import TestSupport
import TestTags
import Testing

/// An object that reads a value when it is released.
private final class Reader: Sendable {
  private let read: @Sendable () -> Void

  init(_ read: @escaping @Sendable () -> Void) {
    self.read = read
  }

  deinit { read() }
}

@MainActor @Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct MainActorStateTests {
  /// Waits until the state has a value.
  private func wait<Value: Equatable>(
    until value: Value, in mirror: MainActorState<Value>
  ) async {
    while true {
      let isShown = await withCheckedContinuation { (found: CheckedContinuation<Bool, Never>) in
        let once = Locked<CheckedContinuation<Bool, Never>?>(found)
        let resume: @Sendable (Bool) -> Void = { isShown in
          let waiting = once.withLock { once in
            defer { once = nil }
            return once
          }
          waiting?.resume(returning: isShown)
        }
        withObservationTracking {
          if mirror.value == value { resume(true) }
        } onChange: {
          resume(false)
        }
      }
      if isShown { return }
      // The framework reports the change before it happens, which is when the main actor is free again.
      await Task { @MainActor in }.value
    }
  }

  @Test func `a mirror has the current value immediately and does not receive it again`() async {
    let property = Property(1)
    property.value = 2
    let mirror = MainActorState(property)
    #expect(mirror.value == 2)
    let log = Log<Int>()
    withObservationTracking {
      _ = mirror.value
    } onChange: {
      log.append(0)
    }
    await Task { @MainActor in }.value
    #expect(log.value == [])
  }

  @Test func `creating a mirror is no tracked read`() {
    let property = Property(1)
    let log = Log<Int>()
    let mirrors = withObservationTracking {
      [MainActorState(property), MainActorState(property.map { $0 * 2 }.map { $0 + 1 })]
    } onChange: {
      log.append(property.value)
    }
    property.value = 2
    #expect(log.value == [])
    withExtendedLifetime(mirrors) {}
  }

  @Test func `a mirror changes only on the main actor`() async {
    let property = Property(1)
    let mirror = MainActorState(property)
    property.value = 2
    #expect(mirror.value == 1)
    await wait(until: 2, in: mirror)
  }

  @Test func `values that other threads set arrive`() async {
    let property = Property(0)
    let mirror = MainActorState(property.map { $0 * 2 })
    _ = onThread {
      for value in 1...1000 { property.value = value }
    }
    await wait(until: 2000, in: mirror)
    #expect(mirror.value == 2000)
  }

  @Test func `observers of a mirror are called before it changes`() async {
    let property = Property(1)
    let mirror = MainActorState(property)
    let log = Log<Int>()
    withObservationTracking {
      _ = mirror.value
    } onChange: {
      MainActor.assumeIsolated { log.append(mirror.value) }
    }
    property.value = 2
    await wait(until: 2, in: mirror)
    #expect(log.value == [1])
  }

  @Test func `a mirror keeps its property alive and is released with it`() async {
    weak var released: MainActorState<Int>?
    weak var property: Property<Int>?
    do {
      let source = Property(1)
      property = source
      var mirror: MainActorState? = MainActorState(source)
      released = mirror
      source.value = 2
      mirror = nil
      #expect(released == nil)
    }
    #expect(property == nil)
    await Task { @MainActor in }.value
    let mirror = MainActorState(Property(3))
    #expect(mirror.value == 3)
  }

  @Test func `a mirror releases its old value after the new one is set`() async throws {
    let mirrors = Log<MainActorState<Reader?>>()
    let log = Log<Bool>()
    let property = Property<Reader?>(
      Reader { MainActor.assumeIsolated { log.append(mirrors.value[0].value == nil) } })
    mirrors.append(MainActorState(property))
    property.value = nil
    try await TestSupport.wait(for: "the old value to be released") { !log.value.isEmpty }
    #expect(log.value == [true])
  }

  @Test func `a mirror can be created inside an observer`() async {
    let property = Property(0)
    let mirrors = Log<MainActorState<Int>>()
    let observation = property.observe { value in
      guard value == 1 else { return }
      property.value = 2
      MainActor.assumeIsolated { mirrors.append(MainActorState(property)) }
    }
    property.value = 1
    await wait(until: 2, in: mirrors.value[0])
    withExtendedLifetime(observation) {}
  }
}
