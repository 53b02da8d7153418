public import Diffing
public import ObservableCollections

/// Lists what a data source holds; an item is its own content.
///
/// A run waits until the source has loaded. While a source fails that has loaded before, its last good
/// contents are listed.
public final class DataSourceRemote<Item: Differentiable & Sendable>: OneWayRemote {
  public typealias Content = Item

  private let source: any DataSource<Item>

  /// Makes a remote.
  ///
  /// - Parameter source: What is listed; the first run starts an idle one.
  public init(_ source: any DataSource<Item>) {
    self.source = source
  }

  /// Lists what the source holds now.
  ///
  /// - Throws: `SourceError` where the source fails before it has loaded.
  public func items() async throws -> [Item] {
    Array(try await source.loaded())
  }
}
