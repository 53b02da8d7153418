public import Diffing

/// A remote list that a ``LocalStore`` is filled from.
public protocol OneWayRemote<Item, Content>: Sendable {
  /// What it lists.
  associatedtype Item: Differentiable & Sendable
  /// What is downloaded of an item.
  associatedtype Content: Sendable

  /// Fetches the list.
  func items() async throws -> [Item]

  /// Downloads what can be shown of an item at first. Default: nil, there is no such thing.
  func preview(of item: Item) async throws -> Content?

  /// Downloads an item.
  func content(of item: Item) async throws -> Content
}

extension OneWayRemote {
  public func preview(of item: Item) async throws -> Content? { nil }
}

extension OneWayRemote where Content == Item {
  /// What the list says of an item is all there is.
  public func content(of item: Item) async throws -> Item { item }
}
