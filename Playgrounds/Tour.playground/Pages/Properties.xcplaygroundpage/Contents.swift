// A value that you can read, set and observe.
//
//     swift run Properties
import Dispatch
import Swappable

// MARK: A value and its observers

let name = Property("Ada")
// An observer receives the current value immediately, and then each new value.
let observation = name.observe { print("name:", $0) }
name.value = "Grace"
name.modify { $0 += " Hopper" }

// MARK: Derived signals

// An observer of a property's signal receives the current value first, too.
let lengths = name.signal.map(\.count).removeDuplicates()
let lengthObservation = lengths.observe { print("letters:", $0) }
name.value = "Katherine Johnson"
name.value = "katherine johnson"
lengthObservation.dispose()

// MARK: Read-only properties

// The owner of a property can publish it in read-only form.
final class Counter: Sendable {
  private let property = Property(0)
  let count: ReadOnlyProperty<Int>

  init() { count = ReadOnlyProperty(property) }

  nonisolated func increment() { property.modify { $0 += 1 } }
}

let counter = Counter()
let counterObservation = counter.count.observe { count in
  if count.isMultiple(of: 500) { print("count:", count) }
}

// MARK: Threads

// `modify` is atomic: no change is lost, and all observers receive the values in the same order.
DispatchQueue.concurrentPerform(iterations: 1000) { _ in counter.increment() }
print("final count:", counter.count.value)

// MARK: Setting a value inside an observer

// This property limits its own value. Observers receive both values, one after another.
let volume = Property(5)
let limit = volume.observe { if $0 > 10 { volume.value = 10 } }
let display = volume.observe { print("volume:", $0) }
volume.value = 14

// MARK: On the main actor

// The observer runs on the main actor. Pending values are merged into the latest one.
let (shown, show) = AsyncStream<Int>.makeStream()
let onMainActor = volume.observe(on: .mainActor) { show.yield($0) }
volume.value = 3
volume.value = 4
for await volume in shown {
  print("shown:", volume)
  break
}
