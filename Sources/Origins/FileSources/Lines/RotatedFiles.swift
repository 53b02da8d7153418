import Diffing
import FileWatching
import ObservableCollections
import SwappablePrimitives

/// The files that a log has had one after the other, whose newest lines are shown.
///
/// A file that has lost its path stays open while its writer may go on: programs learn late of a rotation. Once it has no
/// name any more, it is read to its end and closed, so it holds no space on the disk.
struct RotatedFiles<Element: Differentiable & Sendable>: Sendable {
  private struct Entry: Sendable {
    /// The open file, or `nil` if it was read to its end.
    var file: OpenedFile?
    var identity: FileIdentity?
    /// The end of the lines that were read.
    var cursor: LineCursor?
    /// The number of its elements in the list.
    var count = 0
    /// The time at which it has last grown.
    var growth = ContinuousClock.now
  }

  /// The time without new lines after which an old file is closed.
  private static var patience: Duration { .seconds(60) }
  /// The number of old files that are known when they come back to the path.
  private static var memory: Int { 16 }
  /// The pause between two reads of old files, which nothing watches.
  private static var interval: Duration { .milliseconds(250) }

  /// The number of lines that are shown.
  let last: Int
  /// The files, from the oldest one to the one at the path.
  private var entries: [Entry] = []

  init(last: Int) {
    precondition(last >= 1, "rotation must keep at least 1 line, but keeps \(last)")
    self.last = last
  }

  /// The lines without an element in the file at the path.
  var skippedLines: SkippedLines { entries.last?.cursor?.skipped ?? SkippedLines() }

  /// The pause before the next read, if an old file is followed.
  var pause: Duration? {
    entries.dropLast().contains { $0.file != nil } ? Self.interval : nil
  }

  /// Reads the new lines of all files.
  mutating func read(
    in files: FileAccess, by reader: LinesReader<Element>
  ) throws(ReadFailure) -> SourceWriter<Element>.Contents {
    var failure: ReadFailure?
    do throws(ReadFailure) {
      try notice(try files.open(reader.path).mapError(ReadFailure.init).get())
    } catch {
      failure = error
    }
    // What an error leaves unread is read again.
    var new = self
    var added: [[Element]] = []
    var number = 0
    while number < new.entries.count {
      do throws(ReadFailure) {
        added.append(try new.readEntry(number, by: reader))
      } catch {
        // An old file that cannot be read must not hide the new one.
        guard number < new.entries.count - 1 else { throw error }
        added.append([])
        if new.isQuiet(number) { new.entries[number].file = nil }
      }
      number += 1
    }
    if let failure, added.allSatisfy(\.isEmpty) {
      self = new
      throw failure
    }
    let contents = new.merge(added)
    self = new
    return contents
  }

  /// Notes the file that is at the path now.
  private mutating func notice(_ file: OpenedFile) throws(ReadFailure) {
    let stamp = try file.stamp().mapError(ReadFailure.init).get()
    // The inode of an open file is not used for another one.
    if let current = entries.last, current.file != nil, current.identity == stamp.identity {
      return
    }
    if var current = entries.last, var cursor = current.cursor, cursor.position > 0,
      stamp.size >= cursor.position,
      try FileMargins(of: file, upTo: cursor.position).fingerprint == cursor.fingerprint
    {
      // A program has saved a copy of the file, perhaps with more lines.
      cursor.stamp = stamp
      (current.file, current.identity, current.cursor) = (file, stamp.identity, cursor)
      entries[entries.count - 1] = current
    } else {
      var new = Entry(file: file, identity: stamp.identity)
      // A file may come back to the path. Another file may have got its inode meanwhile.
      for number in entries.indices.reversed() where entries[number].identity == stamp.identity {
        entries[number].file = nil
        guard let cursor = entries[number].cursor, stamp.size >= cursor.position,
          try FileMargins(of: file, upTo: cursor.position).fingerprint == cursor.fingerprint
        else { continue }
        new.cursor = new.cursor ?? cursor
        entries[number].cursor = nil
      }
      entries.append(new)
    }
  }

  /// Returns a Boolean value that indicates whether a file has had no new line for a while.
  private func isQuiet(_ number: Int) -> Bool {
    entries[number].growth.duration(to: .now) > Self.patience
  }

  /// Returns the new elements of a file, and closes it if it has no more.
  private mutating func readEntry(
    _ number: Int, by reader: LinesReader<Element>
  ) throws(ReadFailure) -> [Element] {
    guard let file = entries[number].file else { return [] }
    let stamp = try file.stamp().mapError(ReadFailure.init).get()
    var margins = FileMargins()
    if entries.count == 1, entries[0].cursor == nil {
      entries[0].cursor = try reader.cursor(before: last, in: file, stamp)
    }
    if let cursor = entries[number].cursor {
      margins = try FileMargins(of: file, upTo: cursor.position)
      if stamp.size < cursor.position || margins.fingerprint != cursor.fingerprint {
        // It was truncated. What was read stays, and its lines begin again.
        entries.insert(
          Entry(file: file, identity: entries[number].identity), at: number + 1)
        entries[number].file = nil
        return []
      }
    }
    var lines = try reader.read(file, from: entries[number].cursor, margins: margins, stamp: stamp)
    if let error = lines.error { throw reader.failure(error) }
    if !lines.elements.isEmpty { entries[number].growth = .now }
    let isOld = number < entries.count - 1
    if stamp.isUnlinked || isOld && isQuiet(number) {
      // Its last line may lack a newline.
      if !lines.openLine.isEmpty,
        let element = try? reader.element(of: lines.openLine, after: lines.cursor)
      {
        lines.elements.append(element)
      }
      entries[number].file = nil
    }
    entries[number].cursor = lines.cursor
    return lines.elements
  }

  /// Adds new elements after the elements of their files, and removes the oldest ones.
  private mutating func merge(_ added: [[Element]]) -> SourceWriter<Element>.Contents {
    let total = entries.reduce(0) { $0 + $1.count } + added.reduce(0) { $0 + $1.count }
    let excess = max(0, total - last)
    var (deletions, insertions, inserted): ([Int], [Int], [Element]) = ([], [], [])
    // The offset in the old list, and in the list of all elements.
    var (oldOffset, offset) = (0, 0)
    for (number, new) in added.enumerated() {
      let old = entries[number].count
      let deleted = min(old, max(0, excess - offset))
      deletions += oldOffset..<oldOffset + deleted
      oldOffset += old
      offset += old
      let dropped = min(new.count, max(0, excess - offset))
      insertions += (offset + dropped - excess)..<(offset + new.count - excess)
      inserted += new.dropFirst(dropped)
      offset += new.count
      entries[number].count = old - deleted + new.count - dropped
    }
    forgetClosedFiles()
    if deletions.isEmpty, insertions.isEmpty { return .same }
    return .changed(
      Changeset(deletions: deletions, insertions: insertions), inserted: inserted, updated: [])
  }

  /// Merges old files next to each other that are closed, so their number does not grow.
  private mutating func forgetClosedFiles() {
    var kept: [Entry] = []
    for (number, entry) in entries.enumerated() {
      let isOld = number < entries.count - Self.memory
      if entry.file == nil, isOld, let before = kept.last, before.file == nil {
        kept[kept.count - 1].count += entry.count
      } else {
        kept.append(entry)
      }
    }
    entries = kept
  }
}
