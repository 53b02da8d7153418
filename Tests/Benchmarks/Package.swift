// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "SwappableBenchmarks",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Swappable", path: "../..")],
  targets: [
    .executableTarget(
      name: "EngineBenchmarks",
      dependencies: [.product(name: "Swappable", package: "Swappable")])
  ],
  swiftLanguageModes: [.v6]
)
