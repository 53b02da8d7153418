import ArgumentParser
import RemoteSources
import Swappable

/// A list with its feed, and the sources that it can be swapped to.
struct ServedList: Sendable {
  /// A list in the answer to `GET /lists`.
  struct Description: Codable, Sendable {
    let name: String
    /// The name of the source that is shown.
    let source: String?
    let sources: [String]
  }

  let name: String
  let feed: Feed
  private let container: SwappableContainer<JSONElement>
  private let sources: [(name: String, source: any DataSource<JSONElement>)]

  /// Creates a list that shows the first of its sources.
  ///
  /// - Parameter key: The member that identifies an element, or `nil` for the whole element.
  init(name: String, key: String?, sources: [SourceArgument]) throws {
    try self.init(
      name: name, key: key, sources: sources.map { ($0.name, $0.source.open(key: key)) })
  }

  init(
    name: String, key: String?, sources: [(name: String, source: any DataSource<JSONElement>)]
  ) throws {
    guard let first = sources.first else {
      throw ValidationError("the list \"\(name)\" has no source")
    }
    guard Set(sources.map(\.name)).count == sources.count else {
      throw ValidationError("the list \"\(name)\" has two sources with the same name")
    }
    self.name = name
    self.sources = sources
    container = SwappableContainer(first.source)
    feed = Feed(container, key: key)
  }

  var status: SourceStatus { container.status }

  /// The name of the state, as in `status` lines.
  var stateName: String {
    switch status.state {
    case .idle: "idle"
    case .loading: "loading"
    case .loaded: "loaded"
    case .failed: "failed"
    case .missing: "missing"
    }
  }

  /// The name of the source that is shown.
  var sourceName: String? {
    guard let shown = container.source else { return nil }
    return sources.first { $0.source === shown }?.name
  }

  var description: Description {
    Description(name: name, source: sourceName, sources: sources.map(\.name))
  }

  /// Swaps to one of the sources, and waits until it is shown.
  ///
  /// - Returns: The outcome, or `nil` if the list has no such source.
  func swap(toSource name: String) async -> SwapHandle.Outcome? {
    guard let (_, source) = sources.first(where: { $0.name == name }) else { return nil }
    return await container.swap(to: source).outcome
  }
}

/// The lists of the service, in the order of the command line.
struct ServedLists: Sendable {
  let all: [ServedList]

  init(_ lists: [ServedList]) throws {
    guard Set(lists.map(\.name)).count == lists.count else {
      throw ValidationError("two lists have the same name")
    }
    all = lists
  }

  subscript(name: String) -> ServedList? { all.first { $0.name == name } }
}
