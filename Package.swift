// swift-tools-version: 6.3
import PackageDescription

/// The settings of all targets. A check of all files sets the variable, so that it needs one build only.
let settings: [SwiftSetting] =
  [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
  ]
  + (Context.environment["SWAPPABLE_STRICT"] == nil ? [] : [.treatAllWarnings(as: .error)])
  + (Context.environment["SWAPPABLE_SCHEDULES"] == nil ? [] : [.define("SWAPPABLE_SCHEDULES")])

/// A folder of `Sources`, and of `Tests`. A module imports modules of its own floor and of those below.
enum Floor: String {
  case tool = "Tool"
  case testing = "Testing"
  case synchronization = "Synchronization"
  case views = "Views"
  case origins = "Origins"
  case core = "Core"
}

func module(_ name: String, on floor: Floor, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(
    name: name, dependencies: dependencies, path: "Sources/\(floor.rawValue)/\(name)",
    swiftSettings: settings)
}

/// A page of the tour: the same source is a page in Xcode and a program.
func page(_ name: String, _ others: Target.Dependency...) -> Target {
  .executableTarget(
    name: name,
    dependencies: ["Swappable"] + others,
    path: "Playgrounds/Tour.playground/Pages/\(name).xcplaygroundpage",
    swiftSettings: settings + [.defaultIsolation(MainActor.self)])
}

func tests(
  _ name: String, on floor: Floor? = nil, _ dependencies: [Target.Dependency]
) -> Target {
  .testTarget(
    name: name, dependencies: dependencies + ["TestTags"],
    path: "Tests/" + (floor.map { $0.rawValue + "/" } ?? "") + name, swiftSettings: settings)
}

let package = Package(
  name: "Swappable",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "Swappable", targets: ["Swappable"]),
    .library(name: "SQLiteSources", targets: ["SQLiteSources"]),
    .library(name: "PostgresSources", targets: ["PostgresSources"]),
    .library(name: "RemoteSources", targets: ["RemoteSources"]),
    .library(name: "HTTPSources", targets: ["HTTPSources"]),
    .library(name: "Synchronizers", targets: ["Synchronizers"]),
    .library(name: "SynchronizerStores", targets: ["SynchronizerStores"]),
    .library(name: "TerminalViews", targets: ["TerminalViews"]),
    .library(name: "DataSourceTesting", targets: ["DataSourceTesting"]),
    .executable(name: "livelist", targets: ["livelist"]),
  ],
  targets: [
    // The framework. `.ci/floors` checks the imports.
    module("SwappablePrimitives", on: .core),
    module("ReactiveSignals", on: .core, ["SwappablePrimitives"]),
    module("Diffing", on: .core, ["SwappablePrimitives"]),
    module("ChangeDescriptions", on: .core, ["Diffing"]),
    module("FileWatching", on: .origins, ["SwappablePrimitives"]),
    .systemLibrary(
      name: "SwappableSQLite3", path: "Sources/Origins/SwappableSQLite3", pkgConfig: "sqlite3",
      providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite3"])]),
    module(
      "ObservableCollections", on: .core,
      ["SwappablePrimitives", "ReactiveSignals", "Diffing", "ChangeDescriptions"]),
    // What only Apple systems have.
    module(
      "AppleSupport", on: .views,
      ["SwappablePrimitives", "ReactiveSignals", "Diffing", "ObservableCollections"]),
    module(
      "SwappableSources", on: .core,
      ["SwappablePrimitives", "ReactiveSignals", "Diffing", "ObservableCollections"]),
    module(
      "FileSources", on: .origins,
      [
        "SwappablePrimitives", "Diffing", "ChangeDescriptions", "ObservableCollections",
        "FileWatching",
      ]),
    // What is the same for all databases.
    module(
      "SQLSources", on: .origins, ["SwappablePrimitives", "Diffing", "ObservableCollections"]),
    module(
      "SQLiteSources", on: .origins,
      [
        "SwappablePrimitives", "ReactiveSignals", "Diffing", "ObservableCollections", "SQLSources",
        "FileWatching", "SwappableSQLite3",
      ]),
    // libpq is loaded at run time: neither the build nor users of other modules need it.
    .target(name: "SwappablePQ", path: "Sources/Origins/SwappablePQ"),
    module(
      "PostgresSources", on: .origins,
      [
        "SwappablePrimitives", "ReactiveSignals", "Diffing", "ObservableCollections", "SQLSources",
        "SwappablePQ",
      ]),
    module(
      "RemoteSources", on: .origins,
      [
        "SwappablePrimitives", "ReactiveSignals", "Diffing", "ObservableCollections", "FileSources",
      ]),
    // On Linux, libcurl is loaded at run time.
    .target(name: "SwappableCurl", path: "Sources/Origins/SwappableCurl"),
    module("HTTPSources", on: .origins, ["SwappablePrimitives", "RemoteSources", "SwappableCurl"]),
    module(
      "Synchronizers", on: .synchronization,
      [
        "SwappablePrimitives", "ReactiveSignals", "Diffing", "ChangeDescriptions",
        "ObservableCollections",
      ]),
    module(
      "SynchronizerStores", on: .synchronization,
      [
        "SwappablePrimitives", "Diffing", "ObservableCollections", "Synchronizers", "SQLiteSources",
      ]),
    module(
      "ListViews", on: .views,
      ["SwappablePrimitives", "ReactiveSignals", "Diffing", "ObservableCollections"]),
    module(
      "TerminalViews", on: .views,
      ["SwappablePrimitives", "ReactiveSignals", "Diffing", "ObservableCollections"]),
    module(
      "DataSourceTesting", on: .testing,
      [
        "SwappablePrimitives", "ReactiveSignals", "Diffing", "ChangeDescriptions",
        "ObservableCollections", "SwappableSources", "ListViews",
      ]),
    .target(
      name: "Swappable",
      dependencies: [
        "ReactiveSignals", "Diffing", "ChangeDescriptions", "ObservableCollections", "AppleSupport",
        "SwappableSources", "FileSources", "ListViews",
      ],
      swiftSettings: settings),

    // Programs.
    .executableTarget(
      name: "livelist",
      dependencies: [
        "SwappablePrimitives", "ReactiveSignals", "Diffing", "ChangeDescriptions",
        "ObservableCollections", "SwappableSources", "FileWatching", "FileSources", "SQLSources",
        "SQLiteSources", "PostgresSources", "RemoteSources", "HTTPSources", "Synchronizers",
        "TerminalViews",
      ],
      path: "Sources/Tool/livelist", swiftSettings: settings),
    .target(
      name: "DemoSupport", dependencies: ["TerminalViews"], path: "Playgrounds/DemoSupport",
      swiftSettings: settings),
    .executableTarget(
      name: "SwapDemo",
      dependencies: ["Swappable", "SQLiteSources", "TerminalViews", "DemoSupport"],
      path: "Playgrounds/SwapDemo",
      swiftSettings: settings),
    .executableTarget(
      name: "OrdersDemo",
      dependencies: ["Swappable", "SQLiteSources", "TerminalViews", "DemoSupport"],
      path: "Playgrounds/OrdersDemo",
      swiftSettings: settings),
    .executableTarget(
      name: "SyncDemo",
      dependencies: ["Swappable", "Synchronizers", "SynchronizerStores", "DemoSupport"],
      path: "Playgrounds/SyncDemo",
      swiftSettings: settings),
    .executableTarget(
      name: "PostgresDemo",
      dependencies: ["Swappable", "PostgresSources", "DemoSupport", "TestSupport"],
      path: "Playgrounds/PostgresDemo",
      swiftSettings: settings),
    page("Signals"),
    page("Properties"),
    page("Collections"),
    page("DerivedLists"),
    page("EverydayLists"),
    page("Differences"),
    page("Swapping"),
    page("SwapControl"),
    page("Files"),
    page("Databases", "SQLiteSources"),
    page("Orders", "SQLiteSources"),
    page("Postgres", "PostgresSources"),
    page("DifferentialSynchronization", "Synchronizers"),
    page("OneWaySynchronization", "Synchronizers"),

    // Tests. `TestHelper` is the second process of some tests. All tests share `TestSupport`.
    .target(
      name: "TestSupport",
      dependencies: [
        "SwappablePrimitives", "ReactiveSignals", "Diffing", "ObservableCollections",
        "RemoteSources", "DataSourceTesting",
      ],
      path: "Tests/Support/TestSupport", swiftSettings: settings),
    // Apart from `TestSupport`, which programs use that have no tests.
    .target(
      name: "TestTags", dependencies: ["DataSourceTesting"], path: "Tests/Support/TestTags",
      swiftSettings: settings),
    .executableTarget(
      name: "TestHelper",
      dependencies: [
        "SwappableSQLite3", "Swappable", "ObservableCollections", "SQLiteSources",
        "PostgresSources", "Synchronizers", "SynchronizerStores", "TerminalViews",
        "DataSourceTesting",
      ],
      path: "Tests/Support/TestHelper", swiftSettings: settings),
    tests(
      "SwappablePrimitivesTests", on: .core,
      ["SwappablePrimitives", "DataSourceTesting", "TestSupport"]),
    tests(
      "ReactiveSignalsTests", on: .core,
      ["SwappablePrimitives", "ReactiveSignals", "DataSourceTesting", "TestSupport"]),
    tests(
      "DiffingTests", on: .core,
      ["Diffing", "ChangeDescriptions", "DataSourceTesting", "TestSupport"]),
    tests(
      "ObservableCollectionsTests", on: .core,
      [
        "SwappablePrimitives", "ReactiveSignals", "Diffing", "ChangeDescriptions",
        "ObservableCollections", "DataSourceTesting", "TestSupport",
      ]),
    tests(
      "AppleSupportTests", on: .views,
      [
        "SwappablePrimitives", "ReactiveSignals", "ObservableCollections", "AppleSupport",
        "TestSupport",
      ]),
    tests(
      "SwappableSourcesTests", on: .core,
      [
        "ReactiveSignals", "Diffing", "ObservableCollections", "SwappableSources",
        "DataSourceTesting", "TestSupport",
      ]),
    tests(
      "DataSourceTestingTests", on: .testing,
      [
        "SwappablePrimitives", "ReactiveSignals", "Diffing", "ObservableCollections",
        "SwappableSources", "DataSourceTesting", "TestSupport",
      ]),
    tests(
      "FileWatchingTests", on: .origins,
      [
        "SwappablePrimitives", "ReactiveSignals", "FileWatching", "DataSourceTesting",
        "TestSupport",
      ]),
    tests(
      "FileSourcesTests", on: .origins,
      [
        "SwappablePrimitives", "ReactiveSignals", "Diffing", "ChangeDescriptions",
        "ObservableCollections", "SwappableSources", "FileWatching", "FileSources",
        "DataSourceTesting", "TestHelper", "TestSupport",
      ]),
    tests(
      "SQLiteSourcesTests", on: .origins,
      [
        "SwappablePrimitives", "ReactiveSignals", "Diffing", "ObservableCollections",
        "SwappableSources", "FileWatching", "FileSources", "SQLSources", "SQLiteSources",
        "DataSourceTesting", "SwappableSQLite3", "TestHelper", "TestSupport",
      ]),
    tests(
      "PostgresSourcesTests", on: .origins,
      [
        "SwappablePrimitives", "ReactiveSignals", "Diffing", "ObservableCollections",
        "SwappableSources", "FileSources", "SQLSources", "SQLiteSources", "PostgresSources",
        "RemoteSources", "DataSourceTesting", "TestHelper", "TestSupport",
      ]),
    tests(
      "RemoteSourcesTests", on: .origins,
      [
        "SwappablePrimitives", "ReactiveSignals", "Diffing", "ObservableCollections",
        "SwappableSources", "FileSources", "RemoteSources", "DataSourceTesting", "TestSupport",
      ]),
    tests(
      "HTTPSourcesTests", on: .origins,
      [
        "SwappablePrimitives", "ReactiveSignals", "Diffing", "ObservableCollections",
        "SwappableSources", "FileSources", "RemoteSources", "HTTPSources", "TerminalViews",
        "DataSourceTesting", "TestSupport",
      ]),
    tests(
      "SynchronizersTests", on: .synchronization,
      [
        "SwappablePrimitives", "ReactiveSignals", "Diffing", "ObservableCollections",
        "SwappableSources", "ListViews", "Synchronizers", "DataSourceTesting", "TestSupport",
      ]),
    tests(
      "SynchronizerStoresTests", on: .synchronization,
      [
        "SwappablePrimitives", "ReactiveSignals", "Diffing", "ObservableCollections",
        "SwappableSources", "FileSources", "SQLiteSources", "Synchronizers", "SynchronizerStores",
        "DataSourceTesting", "TestHelper", "TestSupport",
      ]),
    tests(
      "ListViewsTests", on: .views,
      [
        "ReactiveSignals", "Diffing", "ObservableCollections", "SwappableSources", "ListViews",
        "DataSourceTesting", "TestSupport",
      ]),
    tests(
      "TerminalViewsTests", on: .views,
      [
        "SwappablePrimitives", "ReactiveSignals", "Diffing", "ObservableCollections",
        "SwappableSources", "TerminalViews", "DataSourceTesting", "TestHelper", "TestSupport",
      ]),
    tests(
      "GuideTests",
      [
        "ReactiveSignals", "Diffing", "ObservableCollections", "SwappableSources", "ListViews",
        "Swappable", "SQLiteSources", "PostgresSources", "RemoteSources", "Synchronizers",
        "SynchronizerStores", "TerminalViews", "DataSourceTesting", "TestHelper", "TestSupport",
      ]),
    tests(
      "LivelistTests", on: .tool,
      [
        "livelist", "SwappablePrimitives", "ReactiveSignals", "Diffing", "ObservableCollections",
        "SwappableSources", "FileSources", "PostgresSources", "RemoteSources", "TerminalViews",
        "DataSourceTesting", "TestHelper", "TestSupport",
      ]),
    tests(
      "PlaygroundTests",
      [
        "SwapDemo", "OrdersDemo", "SyncDemo", "PostgresDemo", "Signals", "Properties",
        "Collections", "Differences", "Swapping", "SwapControl", "Files", "Databases", "Orders",
        "Postgres", "DifferentialSynchronization", "OneWaySynchronization", "Swappable",
        "TerminalViews", "TestSupport",
      ]),
  ],
  swiftLanguageModes: [.v6]
)

// The thread sanitizer's step needs neither the programs nor modules of tests without the tag `concurrency`.
if Context.environment["SWAPPABLE_SANITIZED"] != nil {
  package.products.removeAll { $0.name == "livelist" }
  package.targets.removeAll {
    [
      "LivelistTests", "PlaygroundTests", "GuideTests", "DiffingTests", "PostgresSourcesTests",
      "ListViewsTests",
    ].contains($0.name)
      || $0.type == .executable && $0.name != "TestHelper"
  }
}

// Tests of schedules need a build of their own, in which each synchronization step asks a scheduler.
if Context.environment["SWAPPABLE_SCHEDULES"] != nil {
  let modules = [
    "SwappablePrimitives", "ReactiveSignals", "Diffing", "ChangeDescriptions", "FileWatching",
    "ObservableCollections", "SwappableSources", "FileSources", "RemoteSources", "ListViews",
    "DataSourceTesting", "TestSupport", "TestTags",
  ]
  package.products = []
  package.targets.removeAll { !modules.contains($0.name) }
  package.targets.append(
    tests(
      "ScheduleTests",
      [
        "SwappablePrimitives", "ReactiveSignals", "Diffing", "ObservableCollections",
        "SwappableSources", "FileSources", "RemoteSources", "DataSourceTesting", "TestSupport",
      ]))
}
