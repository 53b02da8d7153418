// A value that can be read, set, and observed.
//
//     swift run Properties
import Dispatch
import Swappable

// MARK: A value and its observers

let name = Property("Ada")
// Each observer is told the present value at once, and then each that is set.
let observation = name.observe { print("name:", $0) }
name.value = "Grace"
name.modify { $0 += " Hopper" }

// MARK: What is made of it

// A signal that comes from a property tells the present value first, too.
let lengths = name.signal.map(\.count).removeDuplicates()
let lengthObservation = lengths.observe { print("letters:", $0) }
name.value = "Katherine Johnson"
name.value = "katherine johnson"
lengthObservation.dispose()

// MARK: Read-only

// Who owns a property may show it without letting others set it.
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

// `modify` is one step between those of other threads: none is lost, and all observers see one order.
DispatchQueue.concurrentPerform(iterations: 1000) { _ in counter.increment() }
print("in the end:", counter.count.value)

// MARK: Setting it inside of an observer

// Here a property keeps itself within limits. Observers see both values, one after the other.
let volume = Property(5)
let limit = volume.observe { if $0 > 10 { volume.value = 10 } }
let display = volume.observe { print("volume:", $0) }
volume.value = 14

// MARK: On the main actor

// The observer runs there; what waits meanwhile becomes one value, the newest.
let (shown, show) = AsyncStream<Int>.makeStream()
let onMainActor = volume.observe(on: .mainActor) { show.yield($0) }
volume.value = 3
volume.value = 4
for await volume in shown {
  print("shown:", volume)
  break
}
