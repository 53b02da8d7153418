// swift-tools-version: 6.3
import PackageDescription

/// The settings of the targets that measure differences, as in the framework.
let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
  name: "SwappableBenchmarks",
  platforms: [.macOS(.v15)],
  products: [
    // For comparisons with packages that this package does not depend on.
    .library(name: "DifferenceWorkloads", targets: ["DifferenceWorkloads"])
  ],
  dependencies: [
    .package(name: "Swappable", path: "../.."),
    // A peer, measured beside the SQLite data source.
    .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
  ],
  targets: [
    .executableTarget(
      name: "AllocationCounts",
      dependencies: ["AllocationMeter", .product(name: "Swappable", package: "Swappable")],
      swiftSettings: settings),
    .executableTarget(
      name: "EngineBenchmarks",
      dependencies: ["Measuring", .product(name: "Swappable", package: "Swappable")]),
    .executableTarget(
      name: "SignalBenchmarks",
      dependencies: [
        "AllocationMeter", "Measuring", .product(name: "Swappable", package: "Swappable"),
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "PipelineBenchmarks",
      dependencies: [
        "AllocationMeter", "Measuring", .product(name: "Swappable", package: "Swappable"),
      ],
      swiftSettings: settings),
    .target(
      name: "DifferenceWorkloads",
      dependencies: [.product(name: "Swappable", package: "Swappable")],
      swiftSettings: settings),
    .executableTarget(
      name: "DifferenceBenchmarks",
      dependencies: [
        "AllocationMeter", "DifferenceWorkloads", "Measuring",
        .product(name: "Swappable", package: "Swappable"),
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "MergeBenchmarks",
      dependencies: [
        "AllocationMeter", "DifferenceWorkloads", "Measuring",
        .product(name: "Swappable", package: "Swappable"),
        .product(name: "Synchronizers", package: "Swappable"),
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "SourceBenchmarks",
      dependencies: [
        "AllocationMeter", "Measuring", .product(name: "Swappable", package: "Swappable"),
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "DatabaseBenchmarks",
      dependencies: [
        "Measuring",
        .product(name: "Swappable", package: "Swappable"),
        .product(name: "SQLiteSources", package: "Swappable"),
        .product(name: "GRDB", package: "GRDB.swift"),
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "PostgresBenchmarks",
      dependencies: [
        "Measuring",
        .product(name: "Swappable", package: "Swappable"),
        .product(name: "PostgresSources", package: "Swappable"),
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "FeedBenchmarks",
      dependencies: [
        "AllocationMeter", "Measuring",
        .product(name: "Swappable", package: "Swappable"),
        .product(name: "RemoteSources", package: "Swappable"),
      ],
      swiftSettings: settings),
    .target(name: "AllocationMeter"),
    .target(name: "Measuring", dependencies: ["AllocationMeter"], swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)
