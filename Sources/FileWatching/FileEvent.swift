/// The state of a path.
package enum FileState: Sendable, Hashable {
  case file(FileStamp)
  /// There is no file. The error names the first component of the path that is missing.
  case missing(FileError)
  /// The state is unknown, for example because a directory does not permit searching.
  case failed(FileError)

  package var stamp: FileStamp? {
    if case .file(let stamp) = self { stamp } else { nil }
  }
}

/// A change of the file at a watched path.
package struct FileEvent: Sendable, Hashable {
  package enum Kind: Sendable, Hashable {
    /// A writer closed the file, so its contents are complete.
    case written
    /// Bytes changed. The writer may continue.
    case modified
    /// Another file was moved to the path, or a symbolic link on the path was switched. The contents
    /// are complete.
    case replaced
    /// A file was created at the path. Its writer may continue.
    case created
    /// The path no longer leads to a file. The state contains the reason.
    case removed
    /// Only attributes or times changed.
    case touched
    /// The file may have changed without a notification, or the watch has changed to or from polling.
    case check
  }

  package var kind: Kind
  package var state: FileState

  package init(kind: Kind, state: FileState) {
    self.kind = kind
    self.state = state
  }
}

/// The notifications for a watched path since the last check: a union without order.
package struct FileSignal: OptionSet, Sendable, Hashable {
  package let rawValue: UInt16

  package init(rawValue: UInt16) { self.rawValue = rawValue }

  /// A writer closed the file.
  package static let written = FileSignal(rawValue: 1)
  /// The file was written to or truncated.
  package static let modified = FileSignal(rawValue: 2)
  /// Attributes or the number of names changed.
  package static let attributes = FileSignal(rawValue: 4)
  /// A name on the path was created.
  package static let created = FileSignal(rawValue: 8)
  /// A file or directory was moved to a name on the path.
  package static let movedIn = FileSignal(rawValue: 16)
  /// A name on the path was removed.
  package static let movedOut = FileSignal(rawValue: 32)
  /// A watched file or directory itself was moved or deleted.
  package static let displaced = FileSignal(rawValue: 64)
  /// The system ended a watch or dropped notifications.
  package static let lost = FileSignal(rawValue: 128)
  /// No notification has arrived. A regular check is due.
  package static let poll = FileSignal(rawValue: 256)
  /// Names in a watched directory changed. The system does not report which names.
  package static let names = FileSignal(rawValue: 512)
  /// A change that was found without a notification may hide another one, so the file is due to be
  /// read again.
  package static let recheck = FileSignal(rawValue: 1024)

  /// A Boolean value that indicates whether the path certainly leads through the same directories to
  /// the same file.
  var keepsPlaces: Bool { isSubset(of: [.written, .modified, .recheck]) }

  /// Returns the kind of the event that leads from one state of the path to another, or `nil` if
  /// nothing has changed.
  ///
  /// Notifications of names count more than stamps. A file system may reuse the inode of a deleted
  /// file, and its clock may not tick between two writes.
  func eventKind(from old: FileState, to new: FileState) -> FileEvent.Kind? {
    guard case .file(let newStamp) = new else {
      if case .file = old { return .removed }
      return old == new ? nil : .check
    }
    guard case .file(let oldStamp) = old else {
      return isDisjoint(with: [.movedIn, .names]) ? .created : .replaced
    }
    if contains(.movedIn) { return .replaced }
    if contains(.created) { return .created }
    // The new file may have the inode of the deleted one. The notification of its creation follows.
    let differs = newStamp.differsInContents(from: oldStamp)
    if contains(.movedOut), differs { return .created }
    if oldStamp.identity != newStamp.identity { return contains(.names) ? .replaced : .created }
    if contains(.written) { return .written }
    if contains(.modified) { return .modified }
    // The writer may continue.
    if contains(.lost) { return differs ? .modified : .check }
    if oldStamp == newStamp { return contains(.recheck) ? .check : nil }
    if oldStamp.size != newStamp.size { return .modified }
    if contains(.attributes) || oldStamp.modified == newStamp.modified { return .touched }
    return .modified
  }
}
