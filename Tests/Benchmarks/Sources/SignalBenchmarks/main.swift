import AllocationMeter
import Measuring
import Swappable

// The cost of operators on signals: allocations and time for each value, beside no operator:
//
//     swift run -c release --package-path Tests/Benchmarks SignalBenchmarks [WORD IN THE NAME]

/// A chain of operators over a signal. Only its end may be observed.
struct Chain {
  let name: String
  let make: (Signal<Int>) -> [Signal<Int>]
}

func tenMaps(_ signal: Signal<Int>) -> [Signal<Int>] {
  var links = [signal]
  for _ in 0..<10 { links.append(links[links.count - 1].map { $0 &+ 1 }) }
  return links
}

let chains = [
  Chain(name: "no operator") { [$0] },
  Chain(name: "10 maps") { [tenMaps($0)[10]] },
  Chain(name: "10 operators of all kinds") { signal in
    let half = { (signal: Signal<Int>) in
      signal.map { $0 &+ 1 }.filter { $0 != 0 }.compactMap { $0 == 1 ? nil : $0 }
        .scan(0) { $0 &+ $1 }.removeDuplicates()
    }
    return [half(half(signal))]
  },
  Chain(name: "10 maps, each observed") { Array(tenMaps($0).dropFirst()) },
  Chain(name: "combineLatest of 2 in one domain") { signal in
    [signal.combineLatest(signal.map { $0 &+ 1 }).map { $0 &+ $1 }]
  },
  Chain(name: "merge") { [$0.merge(with: SignalInput<Int>().signal)] },
]

let values = 10_000
let all = chains.flatMap { chain in
  ["input", "property"].map { root in
    let (property, input) = (Property(0), SignalInput<Int>())
    let observations = chain.make(root == "input" ? input.signal : property.signal)
      .map { $0.observe { _ in } }
    return Contestant(name: "\(chain.name), of \(root == "input" ? "an input" : "a property")") {
      withExtendedLifetime(observations) {}
      if root == "input" {
        for value in 0..<values { input.send(value) }
      } else {
        for value in 0..<values { property.value = value }
      }
      return values
    }
  }
}

let runs = all.filter { run in
  CommandLine.arguments.dropFirst().allSatisfy { run.name.contains($0) }
}
let blocks = runs.map { run in
  // In the second run, all storage has grown already.
  _ = run.run()
  allocation_meter_start()
  _ = run.run()
  _ = allocation_meter_stop()
  return Double(allocation_meter_blocks()) / Double(values)
}
let times = medians(of: runs, .warm).map { $0 / Double(values) }
print("| | allocations a value | median |\n|---|---|---|")
for (index, run) in runs.enumerated() {
  print(
    "| \(run.name) | \((blocks[index] * 100).rounded() / 100) | \(text(nanoseconds: times[index])) |"
  )
}
