import AllocationMeter
import DifferenceWorkloads
import Measuring
import Swappable
import Synchronizers

// The cost of merging two versions of 100,000 rows, beside one difference of that size:
//
//     swift run -c release --package-path Tests/Benchmarks MergeBenchmarks [WORKLOAD…]

let chosen = ThreeVersions<Row>.rows.filter {
  CommandLine.arguments.count == 1 || CommandLine.arguments.contains($0.name)
}

allocator_keep_freed_memory()
var rows = [
  [
    "", "merge", "with outcome", "one difference", "merge/difference", "outcome/difference",
    "two differences", "",
  ]
]
for versions in chosen {
  let (base, mine, theirs) = (versions.base, versions.mine, versions.theirs)
  let times = medians(
    of: [
      Contestant(name: "merge") {
        ThreeWayMerge(base: base, mine: mine, theirs: theirs).changesForMine.updates.count
      },
      Contestant(name: "outcome") {
        ThreeWayMerge(base: base, mine: mine, theirs: theirs).merged.count
      },
      Contestant(name: "one difference") { Changeset(from: base, to: mine).updates.count },
      Contestant(name: "two differences") {
        Changeset(from: base, to: mine).updates.count
          + Changeset(from: base, to: theirs).updates.count
      },
    ], .warm)
  func ratio(_ time: Double) -> String { String(Double(Int(time / times[2] * 100)) / 100) }
  rows.append(
    [versions.name] + times[0..<3].map { text(nanoseconds: $0) }
      + [ratio(times[0]), ratio(times[1]), text(nanoseconds: times[3]), versions.summary])
}
print(table(rows))
