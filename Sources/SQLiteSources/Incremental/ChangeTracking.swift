/// How the rows that a connection writes are collected; other ways than the default exist to show
/// that tests find what they miss.
package struct ChangeTracking: Sendable, Hashable {
  /// What collects the rows.
  package enum Collector: Sendable, Hashable {
    /// SQLite's pre-update hook, which sees every row that is written.
    case preupdateHook
    /// SQLite's update hook, which misses rows that REPLACE deletes and old keys of changed ones.
    case updateHook
  }

  /// What collects the rows.
  package var collector = Collector.preupdateHook
  /// Whether it is checked that nobody else has written before collected rows are trusted.
  package var checksDataVersion = true

  /// The way that is right.
  package init() {}
}
