import Foundation

// What data sources cost, group by group:
//
//     swift run -c release --package-path Tests/Benchmarks SourceBenchmarks [GROUP…]

/// Some benchmarks that belong together, and print a table.
struct Group {
  let name: String
  let run: () -> Void
}

let groups = [
  Group(name: "JSONReload", run: measureJSONReload)
]

let names = Set(CommandLine.arguments.dropFirst())
for group in groups where names.isEmpty || names.contains(group.name) { group.run() }
