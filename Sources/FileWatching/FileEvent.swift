/// What stands at a path.
package enum FileState: Sendable, Hashable {
  case file(FileStamp)
  /// Nothing; the failure names the first component that is not there.
  case missing(FileFailure)
  /// It cannot be told, for example because a directory may not be searched.
  case failed(FileFailure)

  package var stamp: FileStamp? {
    if case .file(let stamp) = self { stamp } else { nil }
  }
}

/// Something happened to the file at a watched path.
package struct FileEvent: Sendable, Hashable {
  package enum Kind: Sendable, Hashable {
    /// A writer closed the file: what it wrote is complete.
    case written
    /// Bytes changed; the writer may not be done.
    case modified
    /// Another file was moved to the path, or a link on the way to it was switched: it is complete.
    case replaced
    /// A file was created at the path; its writer may not be done.
    case created
    /// The file cannot be reached any more; the state says why.
    case removed
    /// Only attributes or times changed.
    case touched
    /// Something may have been missed (a queue overflowed, a file system was unmounted), or
    /// the way of watching changed: look again.
    case check
  }

  package var kind: Kind
  package var state: FileState

  package init(kind: Kind, state: FileState) {
    self.kind = kind
    self.state = state
  }
}
