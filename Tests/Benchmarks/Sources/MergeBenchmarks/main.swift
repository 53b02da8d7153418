import AllocationMeter
import DifferenceWorkloads
import Measuring
import Swappable

// What merging two versions of 100,000 rows costs, beside one difference of that size:
//
//     swift run -c release --package-path Tests/Benchmarks MergeBenchmarks [WORKLOAD…]

let chosen = ThreeVersions<Row>.rows.filter {
  CommandLine.arguments.count == 1 || CommandLine.arguments.contains($0.name)
}

allocator_keep_freed_memory()
var rows = [["", "merge", "one difference", "merge/difference", "two differences", "copy", "", ""]]
for versions in chosen {
  let (base, mine, theirs) = (versions.base, versions.mine, versions.theirs)
  let times = medians(
    of: [
      Contestant(name: "merge") {
        ThreeWayMerge(base: base, mine: mine, theirs: theirs).merged.count
      },
      Contestant(name: "one difference") { Changeset(from: base, to: mine).updates.count },
      Contestant(name: "two differences") {
        Changeset(from: base, to: mine).updates.count
          + Changeset(from: base, to: theirs).updates.count
      },
      Contestant(name: "copy") { Array(theirs.lazy.map { $0 }).count },
    ], .warm)
  rows.append(
    [versions.name] + [times[0], times[1]].map { text(nanoseconds: $0) }
      + [String(Double(Int(times[0] / times[1] * 100)) / 100)]
      + [times[2], times[3]].map { text(nanoseconds: $0) }
      + [
        "\(ThreeWayMerge(base: base, mine: mine, theirs: theirs).conflicts.count)",
        versions.summary,
      ])
}
print(table(rows))
