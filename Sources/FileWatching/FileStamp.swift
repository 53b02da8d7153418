package import SwappablePrimitives

/// Attributes that distinguish the states of a file without reading it.
package struct FileStamp: Sendable, Hashable {
  package enum Kind: Sendable, Hashable {
    case regular, directory, symbolicLink, other
  }

  package var identity: FileIdentity
  package var kind: Kind
  /// The size in bytes.
  package var size: Int64
  /// The time of the last write, in nanoseconds since 1970.
  package var modified: Int64
  /// The time of the last change of contents or attributes, in nanoseconds since 1970.
  package var changed: Int64

  package init(
    identity: FileIdentity, kind: Kind = .regular, size: Int64, modified: Int64, changed: Int64
  ) {
    self.identity = identity
    self.kind = kind
    self.size = size
    self.modified = modified
    self.changed = changed
  }

  /// Returns a Boolean value that indicates whether the contents may differ. The time of the last
  /// change of attributes is ignored.
  package func differsInContents(from other: FileStamp) -> Bool {
    identity != other.identity || kind != other.kind || size != other.size
      || modified != other.modified
  }
}
