import Measuring
import Swappable

// The cost of one commit, one edit, one subscription and one swap:
//
//     swift run -c release --package-path Tests/Benchmarks EngineBenchmarks [WORD IN THE NAME]

/// A list with observers that do almost nothing.
func observed(by count: Int) -> (ArrayDataSource<Int>, [Disposable]) {
  let property = ArrayDataSource(0..<10)
  return (property, (0..<count).map { _ in property.observe { _ in } })
}

func commits(_ count: Int, observers: Int, prototype: String) -> Benchmark {
  Benchmark("commit, \(observers) observers", prototype: prototype, operations: count) {
    let (property, observations) = observed(by: observers)
    return {
      for value in 0..<count { property[value % 10] = value + 100 }
      withExtendedLifetime(observations) {}
    }
  }
}

let old = (0..<63_436).map { Row(id: $0, name: "package-\($0)", section: "devel", size: $0 * 7) }
/// 1,016 updated and 230 inserted rows, spread evenly.
var new = old
for index in 0..<1_016 { new[index * 62].size += 1 }
for index in 0..<230 {
  new.insert(
    Row(id: 100_000 + index, name: "new-\(index)", section: "misc", size: 1), at: index * 270)
}
let sources = [ArrayDataSource(old), ArrayDataSource(new)]
/// The same lists, edited since their creation.
let edited = [ArrayDataSource(old), ArrayDataSource(new)]
for source in edited { source.append(source.remove(at: source.count - 1)) }

let all: [Benchmark] = [
  commits(10_000, observers: 0, prototype: "375 ns"),
  commits(10_000, observers: 1, prototype: "446 ns"),
  commits(10_000, observers: 10, prototype: "763 ns"),
  commits(20, observers: 10_000, prototype: "285 µs"),
  Benchmark("commit behind a container, 1 observer", operations: 10_000) {
    let source = ArrayDataSource(0..<10)
    let container = SwappableContainer(source)
    let observation = container.observe { _ in }
    return {
      for value in 0..<10_000 { source[value % 10] = value + 100 }
      withExtendedLifetime(observation) {}
    }
  },
  Benchmark("swap of 10 rows, 1 observer", operations: 2_000) {
    let sources = [ArrayDataSource(0..<10), ArrayDataSource(0..<10)]
    let container = SwappableContainer(sources[0])
    let observation = container.observe { _ in }
    return {
      for value in 0..<2_000 { container.swap(to: sources[(value + 1) % 2]) }
      withExtendedLifetime(observation) {}
    }
  },
  Benchmark("attach 10,000 observers", prototype: "1.5 ms") {
    let property = ArrayDataSource(0..<10)
    return {
      let observations = (0..<10_000).map { _ in property.observe { _ in } }
      // Another benchmark measures disposal. Here, nothing is disposed of, so only subscribing is measured.
      kept.append(observations)
    }
  },
  Benchmark("detach 10,000 observers", prototype: "1.7 ms") {
    kept.removeAll()
    let (_, observations) = observed(by: 10_000)
    return { for observation in observations { observation.dispose() } }
  },
  Benchmark("property, set, 1 observer", operations: 10_000) {
    let property = Property(0)
    let observation = property.observe { _ in }
    return {
      for value in 0..<10_000 { property.value = value }
      withExtendedLifetime(observation) {}
    }
  },
  Benchmark("property, set, 10,000 observers", operations: 20) {
    let property = Property(0)
    let observations = (0..<10_000).map { _ in property.observe { _ in } }
    return {
      for value in 0..<20 { property.value = value }
      withExtendedLifetime(observations) {}
    }
  },
  Benchmark("property, read", operations: 10_000) {
    let property = Property(0)
    return {
      var sum = 0
      for _ in 0..<10_000 { sum &+= property.value }
      precondition(sum == 0)
    }
  },
  Benchmark("property, attach 10,000 observers") {
    let property = Property(0)
    return { kept.append((0..<10_000).map { _ in property.observe { _ in } }) }
  },
  Benchmark("property, detach 10,000 observers") {
    kept.removeAll()
    let property = Property(0)
    let observations = (0..<10_000).map { _ in property.observe { _ in } }
    return { for observation in observations { observation.dispose() } }
  },
  Benchmark("collection, count", operations: 10_000) {
    return {
      var sum = 0
      for _ in 0..<10_000 { sum &+= sources[0].count }
      precondition(sum == 10_000 * sources[0].count)
    }
  },
  Benchmark("collection, element at an offset", operations: 10_000) {
    return {
      var sum = 0
      for offset in 0..<10_000 { sum &+= sources[0][offset].id }
      precondition(sum != 0)
    }
  },
  Benchmark("late subscription, 63,436 rows", prototype: "272 ns", operations: 1_000) {
    kept.removeAll()
    return { kept.append((0..<1_000).map { _ in sources[0].observe { _ in } }) }
  },
  Benchmark("swap, 63,436 rows, 2 % differ, 1 observer") {
    kept.removeAll()
    let container = SwappableContainer(sources[0])
    kept.append([container.observe { _ in }])
    return { container.swap(to: sources[1]) }
  },
  Benchmark("swap, 63,436 rows, 2 % differ, both edited before, 1 observer") {
    kept.removeAll()
    let container = SwappableContainer(edited[0])
    kept.append([container.observe { _ in }])
    return { container.swap(to: edited[1]) }
  },
]
nonisolated(unsafe) var kept: [[Disposable]] = []

let everything =
  all + Graphs.benchmarks + MillionRows.benchmarks + Aggregates.benchmarks
  + SharedStructure.benchmarks + CountedWork.benchmarks
let benchmarks = everything.filter { benchmark in
  CommandLine.arguments.dropFirst().allSatisfy { benchmark.name.contains($0) }
}
let results = measure(benchmarks, rounds: 31)
print("| | prototype | median | lowest |\n|---|---|---|---|")
for (benchmark, result) in zip(benchmarks, results) {
  let median = text(nanoseconds: result.median)
  print(
    "| \(benchmark.name) | \(benchmark.prototype) | \(median) | \(text(nanoseconds: result.lowest)) |"
  )
}
