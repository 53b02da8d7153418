// Streams of values: how to send and transform them, and where observers are called.
//
//     swift run Signals
import Dispatch
import Swappable

// MARK: Sending

let numbers = SignalInput<Int>()
let observation = numbers.signal.observe { print("received", $0) }
numbers.send(1)

// `observe` returns a handle. Disposing of the handle ends the observation.
observation.dispose()
numbers.send(2)

// MARK: Transforming

// Each closure runs once for a value, even if the result has several observers.
let bag = DisposeBag()
numbers.signal.filter { $0 > 2 }.map { "\($0) squared is \($0 * $0)" }
  .observe { print($0) }.store(in: bag)
numbers.signal.removeDuplicates().observe { print("another number:", $0) }.store(in: bag)
for number in [2, 3, 3] { numbers.send(number) }

// MARK: Sending inside an observer

// The new value is delivered after all observers have received the current one. Therefore, all
// observers receive the values in the same order.
let countdown = SignalInput<Int>()
countdown.signal.observe { number in
  print("first observer:", number)
  if number > 0 { countdown.send(number - 1) }
}.store(in: bag)
countdown.signal.observe { print("second observer:", $0) }.store(in: bag)
countdown.send(1)

// MARK: Queues and policies

// Observers can be called on a queue or on the main actor. A slow observer does not delay other
// ones. Its policy determines how many pending values are kept. Here, the queue is suspended while
// values are sent.
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
print("all letters sent")
queue.resume()
var remaining = 3
for await _ in ends {
  remaining -= 1
  if remaining == 0 { break }
}

// MARK: Ending observations

// The observations in a bag end when you dispose of the bag or release it.
bag.dispose()
numbers.send(4)
print("all observations ended")
