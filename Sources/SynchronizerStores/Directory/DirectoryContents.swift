import Foundation

/// The folder of a ``DirectoryStore`` and what is known of it. Called by one thread at a time.
///
/// An item is stored in this order: its bytes to a new file and to the disk; a line to the index, and to
/// the disk; the new file renamed to the item's name. A line that was written without the rename is told
/// by the checksum of the file: the item counts as not there then.
struct DirectoryContents<Key: Hashable & Sendable>: Sendable {
  /// An item that is there.
  struct Stored: Sendable {
    /// The key as text.
    var text: String
    var name: String
    var size: Int
    var digest: UInt64
    var stamp: String?
  }

  /// An item whose bytes are in a new file.
  struct Arrival: Sendable {
    var key: Key
    var newName: String
    /// Its name is not told yet.
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
  /// The keys of names that are in use.
  private var owners: [String: Key] = [:]
  /// The names of items that are not there, or of which there is only a preview yet.
  private var nameOnly: [Key: String] = [:]
  /// Whether the index has lines behind those that were written at once.
  private var isAppended = false
  /// Whether the index does not say what is known here, or can end in the middle of a line.
  private var isStale = false

  subscript(key: Key) -> Stored? { stored[key] }
  var keys: Dictionary<Key, Stored>.Keys { stored.keys }

  /// The name of an item, also of one of which there is only a preview yet.
  func knownName(of key: Key) -> String? { stored[key]?.name ?? nameOnly[key] }

  static func previewName(of name: String) -> String { previewPrefix + name }
}

// MARK: - Opening

extension DirectoryContents {
  /// Reads the index, checks it against the files, and clears away what a crash has left.
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
          .foreign, "the index holds a key that is none of this type: \(line.key.debugDescription)",
          path: index, help: "give another folder, or the type of item that it was made for")
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
    // A line that was lost may have told that a file has changed since.
    if found.isDamaged { unchecked = Set(stored.keys) }
    for (key, file) in stored where try !isThere(file, comparing: unchecked.contains(key)) {
      isStale = true
      stored[key] = nil
      if let old = previous[key], try isThere(old, comparing: true) {
        stored[key] = old
      } else {
        // It gets its name again when it comes again.
        nameOnly[key] = file.name
      }
    }
    // A key that was removed and came back stands in the order twice: the last time counts.
    var seen: Set<Key> = []
    order = order.reversed().filter { stored[$0] != nil && seen.insert($0).inserted }.reversed()
    owners = [:]
    for (key, file) in stored { owners[file.name] = key }
    for (key, name) in nameOnly { owners[name] = key }
    try clear(mayBeLeft)
  }

  /// Whether an item's file is there, by its length or by all its bytes.
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
  /// The name that an item has or gets.
  private mutating func name(for key: Key, text: String) throws(StoreError) -> String {
    if let name = stored[key]?.name ?? nameOnly[key] { return name }
    for name in FileName.candidates(for: text.utf8, hash: hash(text.utf8))
    where owners[name] == nil {
      // What somebody else has put into the folder is left alone.
      guard try folder.status(name) == nil else { continue }
      // Left by an item of the same name that is no more.
      try folder.remove(Self.previewName(of: name))
      owners[name] = key
      nameOnly[key] = name
      return name
    }
    preconditionFailure("the names for the key \(text) have come to an end")
  }

  /// Takes in a preview whose bytes are in a new file.
  mutating func takePreview(_ newName: String, of key: Key, text: String) throws(StoreError) {
    do throws(StoreError) {
      try folder.rename(newName, to: Self.previewName(of: name(for: key, text: text)))
    } catch {
      try? folder.remove(newName)
      throw error
    }
  }

  /// Takes in items whose bytes are in new files.
  ///
  /// - Returns: For each what went wrong with it, or nil.
  mutating func take(_ arrivals: [Arrival]) -> [StoreError?] {
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
        nameOnly[arrival.key] = nil
      } catch {
        errors[offset] = error
        isStale = true
        try? folder.remove(arrival.newName)
      }
    }
    do throws(StoreError) {
      try folder.sync()
    } catch {
      // The files may be lost when the machine goes down, hence are downloaded again.
      isStale = true
      for (offset, arrival) in arrivals.enumerated() where errors[offset] == nil {
        stored[arrival.key]?.stamp = nil
        errors[offset] = error
      }
    }
    return errors
  }

  /// Takes items away: first out of the index, then their files.
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

  /// Puts the items into an order, forgets previews of what is not listed any more, and writes the index
  /// anew if that is due.
  mutating func settle(_ list: [Key]?) throws(StoreError) {
    if let list {
      var listed: Set<Key> = []
      let known = list.filter { listed.insert($0).inserted && stored[$0] != nil }
      let newOrder = known + order.filter { !listed.contains($0) }
      if newOrder != order { isStale = true }
      order = newOrder
      for (key, name) in nameOnly where !listed.contains(key) {
        try folder.remove(Self.previewName(of: name))
        nameOnly[key] = nil
        owners[name] = nil
      }
    }
    if isAppended || isStale { try writeIndex() }
  }

  private mutating func append(_ lines: [DirectoryIndex.Line]) throws(StoreError) {
    var bytes: [UInt8] = []
    for line in lines { bytes += try DirectoryIndex.encode(line) }
    // A second name of the file may be one outside of the folder: it is replaced, not written to. So is
    // what somebody has put in its place.
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
    // What the lines tell is on the disk before them.
    try folder.sync()
    try folder.rename(Self.newIndexName, to: Self.indexName)
    try folder.sync()
    (isAppended, isStale) = (false, false)
  }

  private func line(_ file: Stored) -> DirectoryIndex.Line {
    DirectoryIndex.Line(
      key: file.text,
      file: .init(
        name: file.name, size: file.size, digest: Checksum.digits(file.digest), stamp: file.stamp))
  }
}
