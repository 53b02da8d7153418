import Foundation

// Measures feeds and their servers:
//
//     swift run -c release --package-path Tests/Benchmarks FeedBenchmarks [GROUP…]
//
// The groups are commits, load, readers, resuming and memory. `soak [SECONDS [CLIENTS]]` and `hostile` run alone. They
// start the server as another process, `serve`.

ClientSocket.raiseFileLimit()

let groups: [(name: String, run: () -> Void)] = [
  ("commits", measureCommits),
  ("load", measureFirstLoad),
  ("readers", measureReaders),
  ("resuming", measureResuming),
  ("memory", measureMemory),
]

let names = CommandLine.arguments.dropFirst()
switch names.first {
case "serve": try serve(names.last ?? "")
case "soak":
  let numbers = names.dropFirst().compactMap { Int($0) }
  runSoak(
    clients: numbers.count > 1 ? numbers[1] : 1_000, rate: 200, seconds: numbers.first ?? 60)
case "hostile": runHostileClients()
default:
  for (name, run) in groups where names.isEmpty || names.contains(name) { run() }
}
