// swift-tools-version: 6.3
import PackageDescription

// Fuzz targets, one executable each, whose `main` is libFuzzer's; see README.md.
let package = Package(
  name: "SwappableFuzzing",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Swappable", path: "../..")],
  targets: [
    .executableTarget(
      name: "FuzzDifference",
      dependencies: [.product(name: "Swappable", package: "Swappable")],
      swiftSettings: [.unsafeFlags(["-parse-as-library"])]),
    .executableTarget(
      name: "FuzzJSON",
      dependencies: [.product(name: "Swappable", package: "Swappable")],
      swiftSettings: [.unsafeFlags(["-parse-as-library"])]),
    .executableTarget(
      name: "FuzzRows",
      dependencies: [.product(name: "SQLiteSources", package: "Swappable")],
      swiftSettings: [.unsafeFlags(["-parse-as-library"])]),
  ],
  swiftLanguageModes: [.v6]
)
