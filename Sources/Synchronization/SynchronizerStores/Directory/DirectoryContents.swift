import Foundation
import SwappablePrimitives

/// The items in the folder of a ``DirectoryStore``. One thread at a time may use them.
///
/// Storing an item takes three steps, and each one reaches the disk before the next one begins: write
/// the bytes to a new file, append a line to the index, and rename the new file. If a crash prevents
/// the renaming, the checksum in the line does not match the file, and the item counts as missing.
struct DirectoryContents<Key: Hashable & Sendable>: Sendable {
  /// A stored item.
  struct Stored: Sendable {
    /// The text of the key.
    var text: String
    var name: String
    var size: Int
    var digest: UInt64
    var stamp: String?
  }

  /// An item whose bytes are in a new file that is not renamed yet.
  struct Arrival: Sendable {
    var key: Key
    var newName: String
    /// The item. Its name is not decided yet.
    var stored: Stored
  }

  static var indexName: String { "+index.jsonl" }
  private static var newIndexName: String { "+index.new" }
  static var newPrefix: String { "+new-" }
  private static var previewPrefix: String { "+preview-" }

  let folder: Folder
  private let hash: @Sendable (String.UTF8View) -> UInt64
  private var stored: [Key: Stored] = [:]
  private(set) var order: [Key] = []
  /// The keys of the names in use.
  private var owners: [String: Key] = [:]
  /// The names of keys without an item: only a preview is stored, or the item is missing.
  private var reservedNames: [Key: String] = [:]
  /// A Boolean value that indicates whether the index has lines that are not settled.
  private var isAppended = false
  /// A Boolean value that indicates whether the index differs from this state or may have an
  /// incomplete line.
  private var isStale = false

  subscript(key: Key) -> Stored? { stored[key] }
  var keys: Dictionary<Key, Stored>.Keys { stored.keys }

  /// Returns the name of a key that has an item or a preview.
  func knownName(of key: Key) -> String? { stored[key]?.name ?? reservedNames[key] }

  static func previewName(of name: String) -> String { previewPrefix + name }
}

// MARK: - Opening

extension DirectoryContents {
  /// Reads the index, compares it with the files, and removes the remains of a crash.
  init(
    in folder: Folder, hash: @escaping @Sendable (String.UTF8View) -> UInt64,
    key: (String) -> Key?
  ) throws(StoreError) {
    self.folder = folder
    self.hash = hash
    let index = folder.path(of: Self.indexName)
    guard let bytes = try folder.read(Self.indexName) else {
      try clear([])
      try writeIndex()
      return
    }
    let found = try DirectoryIndex.decode(bytes, path: index)
    isAppended = found.lines.count > found.settledCount
    isStale = found.isDamaged || found.isTorn

    var unchecked: Set<Key> = []
    var previous: [Key: Stored] = [:]
    var mayBeLeft: Set<String> = []
    for (number, line) in found.lines.enumerated() {
      guard let known = key(line.key) else {
        throw StoreError(
          .foreign, "the index has a key of another type: \(line.key.debugDescription)",
          path: index, help: "use another folder, or the type of item that the folder is for")
      }
      let old = stored.removeValue(forKey: known)
      previous[known] = old
      if let old { mayBeLeft.insert(old.name) }
      guard let file = line.file else { continue }
      guard FileName.isPossible(file.name), let digest = UInt64(file.digest, radix: 16) else {
        isStale = true
        continue
      }
      if let other = owners[file.name], other != known, stored[other]?.name == file.name {
        stored[other] = nil
      }
      owners[file.name] = known
      stored[known] = Stored(
        text: line.key, name: file.name, size: file.size, digest: digest, stamp: file.stamp)
      if old == nil { order.append(known) }
      if number >= found.settledCount { unchecked.insert(known) }
    }
    // An invalid line may belong to a change of any file.
    if found.isDamaged { unchecked = Set(stored.keys) }
    for (key, file) in stored where try !isThere(file, comparing: unchecked.contains(key)) {
      isStale = true
      stored[key] = nil
      if let old = previous[key], try isThere(old, comparing: true) {
        stored[key] = old
      } else {
        // The item gets its name again when it is stored again.
        reservedNames[key] = file.name
      }
    }
    // A key that was removed and stored again is in the order twice. The last place counts.
    var seen: Set<Key> = []
    order = order.reversed().filter { stored[$0] != nil && seen.insert($0).inserted }.reversed()
    owners = [:]
    for (key, file) in stored { owners[file.name] = key }
    for (key, name) in reservedNames { owners[name] = key }
    try clear(mayBeLeft)
  }

  /// Returns a Boolean value that indicates whether the file of an item exists.
  ///
  /// - Parameters:
  ///   - file: The item.
  ///   - comparing: A Boolean value that indicates whether to compare the checksum, too. Otherwise,
  ///     only the length is compared.
  func isThere(_ file: Stored, comparing: Bool = false) throws(StoreError) -> Bool {
    guard let status = try folder.status(file.name), status.isRegular, status.size == file.size
    else { return false }
    guard comparing else { return true }
    return try folder.read(file.name).map { Checksum.of($0) == file.digest } ?? false
  }

  private func clear(_ names: Set<String>) throws(StoreError) {
    for name in names where owners[name] == nil {
      if try folder.status(name)?.isRegular == true { try folder.remove(name) }
    }
    for name in try folder.names() where name.hasPrefix("+") {
      let preview = name.dropFirst(Self.previewPrefix.count)
      if name == Self.newIndexName || name.hasPrefix(Self.newPrefix)
        || name.hasPrefix(Self.previewPrefix) && owners[String(preview)] == nil
      {
        try folder.remove(name)
      }
    }
  }
}

// MARK: - Storing

extension DirectoryContents {
  /// Returns the name of an item, and reserves one if it has none.
  private mutating func name(for key: Key, text: String) throws(StoreError) -> String {
    if let name = stored[key]?.name ?? reservedNames[key] { return name }
    for name in FileName.candidates(for: text.utf8, hash: hash(text.utf8))
    where owners[name] == nil {
      // Do not touch files of other programs.
      guard try folder.status(name) == nil else { continue }
      // Remove the preview of a deleted item that had the same name.
      try folder.remove(Self.previewName(of: name))
      owners[name] = key
      reservedNames[key] = name
      return name
    }
    preconditionFailure("FileName.candidates returned a finite sequence for the key \(text)")
  }

  /// Adds a preview whose bytes are in a new file.
  mutating func addPreview(_ newName: String, of key: Key, text: String) throws(StoreError) {
    do throws(StoreError) {
      try folder.rename(newName, to: Self.previewName(of: name(for: key, text: text)))
    } catch {
      try? folder.remove(newName)
      throw error
    }
  }

  /// Adds items whose bytes are in new files.
  ///
  /// - Returns: The error of each item, or `nil` if it was added.
  mutating func add(_ arrivals: [Arrival]) -> [StoreError?] {
    var (arrivals, errors) = (arrivals, [StoreError?](repeating: nil, count: arrivals.count))
    do throws(StoreError) {
      for (offset, arrival) in arrivals.enumerated() {
        arrivals[offset].stored.name = try name(for: arrival.key, text: arrival.stored.text)
      }
      try append(arrivals.map { line($0.stored) })
    } catch {
      for arrival in arrivals { try? folder.remove(arrival.newName) }
      return arrivals.map { _ in error }
    }
    for (offset, arrival) in arrivals.enumerated() {
      do throws(StoreError) {
        try folder.rename(arrival.newName, to: arrival.stored.name)
        if stored.updateValue(arrival.stored, forKey: arrival.key) == nil {
          order.append(arrival.key)
        }
        reservedNames[arrival.key] = nil
      } catch {
        errors[offset] = error
        isStale = true
        try? folder.remove(arrival.newName)
      }
    }
    do throws(StoreError) {
      try folder.sync()
    } catch {
      // A crash of the machine may lose the files. Without stamps, they are downloaded again.
      isStale = true
      for (offset, arrival) in arrivals.enumerated() where errors[offset] == nil {
        stored[arrival.key]?.stamp = nil
        errors[offset] = error
      }
    }
    return errors
  }

  /// Removes items, first from the index, and then their files.
  mutating func remove(_ keys: Set<Key>) throws(StoreError) {
    let gone = keys.compactMap { key in stored[key].map { (key: key, file: $0) } }
    guard !gone.isEmpty else { return }
    try append(gone.map { DirectoryIndex.Line(key: $0.file.text) })
    for (key, file) in gone {
      stored[key] = nil
      owners[file.name] = nil
    }
    order.removeAll { keys.contains($0) }
    var failure: StoreError?
    for (_, file) in gone {
      do throws(StoreError) {
        try folder.remove(file.name)
        try folder.remove(Self.previewName(of: file.name))
      } catch {
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
    try folder.sync()
  }

  /// Completes a run: orders the items, removes previews of keys that are no longer listed, and
  /// rewrites the index if necessary.
  mutating func settle(_ list: [Key]?) throws(StoreError) {
    if let list {
      var listed: Set<Key> = []
      let known = list.filter { listed.insert($0).inserted && stored[$0] != nil }
      let newOrder = known + order.filter { !listed.contains($0) }
      if newOrder != order { isStale = true }
      order = newOrder
      for (key, name) in reservedNames where !listed.contains(key) {
        try folder.remove(Self.previewName(of: name))
        reservedNames[key] = nil
        owners[name] = nil
      }
    }
    if isAppended || isStale { try writeIndex() }
  }

  private mutating func append(_ lines: [DirectoryIndex.Line]) throws(StoreError) {
    var bytes: [UInt8] = []
    for line in lines { bytes += try DirectoryIndex.encode(line) }
    // Replace an index that is not a regular file, or that has a second name. The second name may be
    // outside of the folder, and appending would change that file.
    let index = try folder.status(Self.indexName)
    if isStale || index?.isRegular != true || index?.linkCount != 1 { try writeIndex() }
    isAppended = true
    do throws(StoreError) {
      try folder.append(bytes, to: Self.indexName)
    } catch {
      isStale = true
      throw error
    }
  }

  private mutating func writeIndex() throws(StoreError) {
    let bytes = try DirectoryIndex.encode(
      settled: order.compactMap { key in stored[key].map(line) })
    try folder.remove(Self.newIndexName)
    try folder.create(Self.newIndexName, bytes)
    // The files must be on the disk before the lines.
    try folder.sync()
    try folder.rename(Self.newIndexName, to: Self.indexName)
    try folder.sync()
    (isAppended, isStale) = (false, false)
  }

  private func line(_ file: Stored) -> DirectoryIndex.Line {
    DirectoryIndex.Line(
      key: file.text,
      file: .init(
        name: file.name, size: file.size, digest: file.digest.hexadecimal, stamp: file.stamp))
  }
}
