// Values as they come: sending them, making others of them, and where observers are called.
//
//     swift run Signals
import Dispatch
import Swappable

// MARK: Sending

let numbers = SignalInput<Int>()
let observation = numbers.signal.observe { print("got", $0) }
numbers.send(1)

// What `observe` returns keeps the observation going, and ends it.
observation.dispose()
numbers.send(2)

// MARK: Making others

// Each closure runs once for a value, however many observe what it makes.
let bag = DisposeBag()
numbers.signal.filter { $0 > 2 }.map { "\($0) squared is \($0 * $0)" }
  .observe { print($0) }.store(in: bag)
numbers.signal.removeDuplicates().observe { print("another number:", $0) }.store(in: bag)
for number in [2, 3, 3] { numbers.send(number) }

// MARK: Sending inside of an observer

// It is told when all have had the present one: nothing is nested, and all see one order.
let countdown = SignalInput<Int>()
countdown.signal.observe { number in
  print("first observer:", number)
  if number > 0 { countdown.send(number - 1) }
}.store(in: bag)
countdown.signal.observe { print("second observer:", $0) }.store(in: bag)
countdown.send(1)

// MARK: Elsewhere

// Observers may be called on a queue, or on the main actor. A slow one holds nobody up: what waits for
// it becomes one value, or is kept, up to so many or all. Here the queue stands while values are sent.
let queue = DispatchQueue(label: "slow")
let (ends, end) = AsyncStream<String>.makeStream()
let letters = SignalInput<String>()
queue.suspend()
for policy in [DeliveryPolicy.coalesce, .bounded(2), .everything] {
  letters.signal.observe(on: .queue(queue), policy: policy) { letter in
    print(policy, letter)
    if letter == "d" { end.yield("\(policy)") }
  }.store(in: bag)
}
for letter in ["a", "b", "c", "d"] { letters.send(letter) }
print("all are sent")
queue.resume()
var waiting = 3
for await _ in ends {
  waiting -= 1
  if waiting == 0 { break }
}

// MARK: The end

// What is in the bag ends with the bag, or when it is told to.
bag.dispose()
numbers.send(4)
print("nobody listens any more")
