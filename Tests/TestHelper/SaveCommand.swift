import Foundation

/// `save PATH [KIND]`: makes each line of the input the contents of the file at PATH, and answers it by
/// one, as `sql` does. U+001E stands for a line's end in the contents.
///
/// Without a kind it saves in place and by a rename in turn. The kinds replay, call by call, what
/// programs do: see `SaveKind`.
func runSaveCommand(_ arguments: [String]) -> Int32 {
  guard let path = arguments.first else {
    answer("error: save takes the path of a file, and a kind of save")
    return 2
  }
  var kinds = [SaveKind.truncate, .rename]
  if arguments.count > 1 {
    guard let kind = SaveKind(rawValue: arguments[1]) else {
      let names = SaveKind.allCases.map(\.rawValue).joined(separator: ", ")
      answer("error: save knows these kinds: \(names)")
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

/// How programs save.
enum SaveKind: String, CaseIterable {
  /// Truncates and writes, as most programs and a shell's `>` do.
  case truncate
  /// The same in parts of a few bytes, each brought to the disk.
  case chunks
  /// Writes over what is there, then cuts off the rest.
  case overwrite
  /// Writes a file beside it and renames that over it, as cautious programs do.
  case rename
  /// As `sed -i` does: a file for its owner alone, the old one's mode, rename.
  case sed
  /// As vim does with a backup: rename away, create, write, sync, delete the backup.
  case vim
  /// Deletes and creates.
  case recreate
  /// Writes to a mapping of the file that stays; spaces fill the contents up to the old length.
  case map
  /// Appends to the file, which stays open.
  case append
}

/// Saves a file, and keeps open what the kind of save keeps open.
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
    // Written pages become clean, so that the next write to one is noted as a change of the file.
    return msync(mapping.address, mapping.count, MS_SYNC) == 0
  }
}
