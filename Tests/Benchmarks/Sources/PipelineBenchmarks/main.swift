import AllocationMeter
import Foundation

// The time from an edit of a list until the observer of a list that is derived from it has been called:
//
//     swift run -c release --package-path Tests/Benchmarks PipelineBenchmarks
//       [SIZE…] [PIPELINE…] [update] [change] [insert] [delete] [move] [transaction]
//       [--rounds N] [--edits N] [--scale N] [--long-titles] [--glazed-lists JAR]
//
// A size is a number of rows, such as 1k or 1M. If the Debian packages libglazedlists-java and default-jdk-headless
// are installed, Glazed Lists is measured in the same run. The environment variable GLAZED_LISTS or the option sets the
// path of its jar. The scale is that of the targets. Without it, the targets are those of a machine on which the list
// without operators is as fast as it is here. Total times are compared with targets scaled by the `Reference`.

allocator_keep_freed_memory()
let options = Options(Array(CommandLine.arguments.dropFirst()))
let glazedLists = GlazedLists(options)
let reference = Reference()
let results = options.sizes.map { count in
  let results = Contest(count, options, reference).run()
  print("## \(number(Double(count))) rows\n\n\(Report.sizeTable(results, options))\n")
  if let table = glazedLists?.table(count, results) { print("\(table)\n") }
  fflush(nil)
  return (count: count, pipelines: results)
}
let report = Report(
  options: options, results: results, machineScale: reference.time.map { $0 / Target.reference })
let tables = [
  report.parameterTable, report.growthTable, report.editTargetTable, report.totalTargetTable,
  report.targetTable,
]
for table in tables {
  if let table { print("\(table)\n") }
}
