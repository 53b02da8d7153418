import Foundation

// Measures the costs of data sources, group by group:
//
//     swift run -c release --package-path Tests/Benchmarks SourceBenchmarks [GROUP…]

/// A group of benchmarks, which print a table.
struct Group {
  let name: String
  let run: () -> Void
}

let groups = [
  Group(name: "JSONReload", run: measureJSONReload)
]

let names = Set(CommandLine.arguments.dropFirst())
for group in groups where names.isEmpty || names.contains(group.name) { group.run() }
