/// Which side wins a conflict.
public enum MergePreference: String, Sendable, Hashable, CaseIterable {
  /// What mine has edited, added or moved. An edit survives what the other side has deleted.
  case mine
  /// What theirs has edited, added, moved or deleted. Its edit survives what mine has deleted.
  case theirs

  /// What a conflict comes to.
  public func resolution<Element>(
    of conflict: MergeConflict<Element>
  ) -> MergeConflict<Element>.Resolution {
    switch (self, conflict.kind) {
    case (.theirs, _), (.mine, .deletedByMine): .theirs
    case (.mine, _): .mine
    }
  }
}
