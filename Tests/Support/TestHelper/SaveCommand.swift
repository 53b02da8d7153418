import Foundation

/// `save PATH [KIND]`: saves each line of the input as the contents of the file at PATH.
///
/// It answers each line as `sql` does. In the contents, a line break replaces U+001E. Without a
/// kind, it alternates between truncating the file and renaming a new one. The kinds repeat the
/// system calls of typical programs: see `SaveKind`.
func runSaveCommand(_ arguments: [String]) -> Int32 {
  guard let path = arguments.first else {
    answer("error: save needs the path of a file, and optionally a kind")
    return 2
  }
  var kinds = [SaveKind.truncate, .rename]
  if arguments.count > 1 {
    guard let kind = SaveKind(rawValue: arguments[1]) else {
      let names = SaveKind.allCases.map(\.rawValue).joined(separator: ", ")
      answer("error: the kind must be one of these: \(names)")
      return 2
    }
    kinds = [kind]
  }
  answer("ok")
  let saving = Saving(path: path)
  var turn = 0
  while let line = readLine() {
    let text = line.replacing("\u{1E}", with: "\n")
    let isSaved = saving.save(Array(text.utf8), by: kinds[turn % kinds.count])
    answer(isSaved ? "ok" : "error: \(path): \(String(cString: strerror(errno)))")
    turn += 1
  }
  return 0
}

/// A way in which programs save files.
enum SaveKind: String, CaseIterable {
  /// Truncates and writes the file, as most programs and the `>` of a shell do.
  case truncate
  /// Truncates and writes the file in parts of a few bytes, each followed by `fsync`.
  case chunks
  /// Overwrites the contents, and then truncates the file to the new length.
  case overwrite
  /// Writes a new file beside the file and renames it, as careful programs do.
  case rename
  /// Writes a private file, sets the mode of the old file, and renames it, as `sed -i` does.
  case sed
  /// Renames the file to a backup, writes a new one, and deletes the backup, as vim does.
  case vim
  /// Deletes the file and creates a new one.
  case recreate
  /// Writes to a memory mapping that is kept. Spaces fill the contents up to the old length.
  case map
  /// Appends to the file, which remains open.
  case append
}

/// The state of saves: the open file and the mapping that some kinds keep.
private final class Saving {
  private let path: String
  private var kept: Int32?
  private var mapping: (address: UnsafeMutableRawPointer, count: Int)?

  init(path: String) { self.path = path }

  func save(_ bytes: [UInt8], by kind: SaveKind) -> Bool {
    switch kind {
    case .truncate: return write(bytes, to: path, O_WRONLY | O_CREAT | O_TRUNC)
    case .chunks:
      return write(bytes, to: path, O_WRONLY | O_CREAT | O_TRUNC, partSize: 7, syncs: true)
    case .overwrite: return write(bytes, to: path, O_WRONLY, cutsOff: true)
    case .rename:
      return write(bytes, to: path + ".new", O_WRONLY | O_CREAT | O_TRUNC)
        && rename(path + ".new", path) == 0
    case .sed:
      let other = path.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 } + "/sedA1b2C3"
      var status = stat()
      return stat(path, &status) == 0
        && write(bytes, to: other, O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
        && chmod(other, status.st_mode) == 0 && rename(other, path) == 0
    case .vim:
      return rename(path, path + "~") == 0
        && write(bytes, to: path, O_WRONLY | O_CREAT | O_EXCL, syncs: true)
        && chmod(path, 0o644) == 0 && unlink(path + "~") == 0
    case .recreate:
      return unlink(path) == 0 && write(bytes, to: path, O_WRONLY | O_CREAT | O_EXCL)
    case .map: return writeToMapping(bytes)
    case .append:
      if kept == nil { kept = open(path, O_WRONLY | O_APPEND) }
      return kept.map { Foundation.write($0, bytes, bytes.count) == bytes.count } ?? false
    }
  }

  private func write(
    _ bytes: [UInt8], to path: String, _ flags: Int32, mode: mode_t = 0o644, partSize: Int? = nil,
    syncs: Bool = false, cutsOff: Bool = false
  ) -> Bool {
    let file = open(path, flags, mode)
    guard file >= 0 else { return false }
    defer { close(file) }
    var rest = bytes[...]
    while !rest.isEmpty {
      let part = Array(rest.prefix(partSize ?? rest.count))
      guard Foundation.write(file, part, part.count) == part.count else { return false }
      if syncs, fsync(file) != 0 { return false }
      rest = rest.dropFirst(part.count)
    }
    return !cutsOff || ftruncate(file, off_t(bytes.count)) == 0
  }

  private func writeToMapping(_ bytes: [UInt8]) -> Bool {
    if mapping == nil {
      let file = open(path, O_RDWR)
      guard file >= 0 else { return false }
      // The mapping outlives the descriptor.
      defer { close(file) }
      let count = Int(lseek(file, 0, SEEK_END))
      guard let address = mmap(nil, count, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0),
        address != MAP_FAILED
      else { return false }
      mapping = (address, count)
    }
    guard let mapping, mapping.count >= bytes.count else { return false }
    let spaces = Array(repeating: UInt8(ascii: " "), count: mapping.count - bytes.count)
    mapping.address.copyMemory(from: bytes + spaces, byteCount: mapping.count)
    // Synchronize the pages. Otherwise, the system does not report the next write to them as a
    // change.
    return msync(mapping.address, mapping.count, MS_SYNC) == 0
  }
}
