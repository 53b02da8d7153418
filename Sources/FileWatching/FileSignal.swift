/// What the system said about one watched path since it was last looked at: a union, without order.
package struct FileSignal: OptionSet, Sendable, Hashable {
  package let rawValue: UInt16

  package init(rawValue: UInt16) { self.rawValue = rawValue }

  /// A writer closed the file.
  package static let written = FileSignal(rawValue: 1)
  /// The file was written to, or truncated.
  package static let modified = FileSignal(rawValue: 2)
  /// Attributes or the number of names changed.
  package static let attributes = FileSignal(rawValue: 4)
  /// A name on the way to the file was created.
  package static let created = FileSignal(rawValue: 8)
  /// Something was moved to a name on the way to the file.
  package static let movedIn = FileSignal(rawValue: 16)
  /// A name on the way to the file went away.
  package static let movedOut = FileSignal(rawValue: 32)
  /// A watched file or directory itself was moved or deleted.
  package static let displaced = FileSignal(rawValue: 64)
  /// The system ended a watch by itself, or dropped events.
  package static let lost = FileSignal(rawValue: 128)
  /// Nobody said anything: it is time to look.
  package static let poll = FileSignal(rawValue: 256)
  /// Names in a watched directory changed; the system does not tell which.
  package static let names = FileSignal(rawValue: 512)

  /// What was found without being told may be followed by more that shows in no stamp.
  package static let doubt = FileSignal(rawValue: 1024)

  /// Whether the watched places are still the right ones for certain.
  var keepsPlaces: Bool { isSubset(of: [.written, .modified, .doubt]) }

  /// Tells what to report, given what stood at the path before and what stands there now.
  ///
  /// Names count more than stamps: a file system gives the inode of a deleted file to the next one
  /// created, and its clock may not tick between two writes.
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
    // The next file may have the number of the deleted one; of its creation will be told.
    let differs = newStamp.differsInContents(from: oldStamp)
    if contains(.movedOut), differs { return .created }
    if oldStamp.identity != newStamp.identity { return contains(.names) ? .replaced : .created }
    if contains(.written) { return .written }
    if contains(.modified) { return .modified }
    // Nobody says that its writer is done.
    if contains(.lost) { return differs ? .modified : .check }
    if oldStamp == newStamp { return contains(.doubt) ? .check : nil }
    if oldStamp.size != newStamp.size { return .modified }
    if contains(.attributes) || oldStamp.modified == newStamp.modified { return .touched }
    return .modified
  }
}
