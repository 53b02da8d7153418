public import Diffing

/// Where a session keeps what it must know after a restart.
///
/// A session calls one method at a time.
public protocol SynchronizationStore<Element, Version>: Sendable {
  /// What the session's collection consists of.
  associatedtype Element: Differentiable & Sendable
  /// What tells the states of the remote apart.
  associatedtype Version: Hashable & Codable & Sendable

  /// Reads what was saved last.
  ///
  /// - Returns: nil where nothing was saved yet.
  /// - Throws: Where there is something that cannot be read. It is left as it is.
  func load() async throws -> SynchronizationState<Element, Version>?

  /// Saves a state in place of the one before: wholly or not at all, whatever happens meanwhile.
  ///
  /// - Throws: Where it cannot be saved; what was saved before is still there.
  func save(_ state: SynchronizationState<Element, Version>) async throws
}
