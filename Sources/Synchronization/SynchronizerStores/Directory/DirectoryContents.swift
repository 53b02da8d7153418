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
    /// The text of the key, which is the path of the file in the folder.
    var text: String
    var size: Int
    var digest: UInt64
    var stamp: String?
  }

  /// An item whose bytes are in a new file that is not renamed yet.
  struct Arrival: Sendable {
    var key: Key
    var newName: String
    var stored: Stored
  }

  /// A name in an open folder, and the names that lead to it.
  private struct Place {
    var folder: Folder
    var names: [String]
    /// A Boolean value that indicates whether a file has the name.
    var isTaken = false

    var name: String { names[names.count - 1] }
  }

  static var indexName: String { "index.jsonl" }
  private static var newIndexName: String { "index.new" }
  static var newPrefix: String { "new-" }
  private static var previewPrefix: String { "preview-" }

  /// The folder of the items.
  let folder: Folder
  /// The folder of the store's own files.
  let state: Folder
  private var stored: [Key: Stored] = [:]
  private(set) var order: [Key] = []
  /// The texts of keys without an item that may have a preview.
  private var previewed: [Key: String] = [:]
  /// The items whose files another program has changed. The files still belong to the store.
  private var missing: [Key: Stored] = [:]
  /// The keys of the paths. Those that a file system may take for one are the same here.
  private var owners: [String: Key] = [:]
  /// The paths of the folders whose names are to be written to the disk.
  private var unwritten: Set<String> = []
  /// A Boolean value that indicates whether the index has lines that are not settled.
  private var isAppended = false
  /// A Boolean value that indicates whether the index differs from this state or may have an
  /// incomplete line.
  private var isStale = false

  subscript(key: Key) -> Stored? { stored[key] }
  /// The keys of all files of the store.
  var keys: Set<Key> { Set(stored.keys).union(missing.keys) }
}

// MARK: - Opening

extension DirectoryContents {
  /// Reads the index, compares it with the files, and removes the remains of a crash.
  init(
    in folder: Folder, state: Folder, key: (String) -> Key?
  ) throws(StoreError) {
    (self.folder, self.state) = (folder, state)
    let index = state.path(of: Self.indexName)
    guard let bytes = try state.read(Self.indexName) else {
      if let other = try state.names().first(where: { !Self.isRemains($0) }) {
        throw StoreError(
          .foreign, "the folder for the store's own files has another file, \(other)",
          path: state.path, help: "use an empty folder")
      }
      try removeRemains()
      try writeIndex()
      return
    }
    let found = try DirectoryIndex.decode(bytes, path: index)
    isAppended = found.lines.count > found.settledCount
    isStale = found.isDamaged || found.isTorn

    var unchecked: Set<Key> = []
    var previous: [Key: Stored] = [:]
    for (number, line) in found.lines.enumerated() {
      guard let known = key(line.key) else {
        throw StoreError(
          .foreign, "the index has a key of another type: \(line.key.debugDescription)",
          path: index, help: "use another folder, or the type of item that the folder is for")
      }
      let old = stored.removeValue(forKey: known)
      previous[known] = old ?? previous[known]
      guard let file = line.file else { continue }
      guard (try? Self.names(in: line.key)) != nil, let digest = UInt64(file.digest, radix: 16)
      else {
        isStale = true
        continue
      }
      stored[known] = Stored(text: line.key, size: file.size, digest: digest, stamp: file.stamp)
      if old == nil { order.append(known) }
      if number >= found.settledCount { unchecked.insert(known) }
    }
    for (key, file) in stored { owners[Self.folded(file.text)] = key }
    // The files of keys that were removed may be left, and so may their folders.
    for (key, file) in previous where stored[key] == nil {
      let (isLeft, isOther) = try (isThere(file, comparing: true), isFileOfOther(file.text))
      try removeFile(file.text, isOurs: isLeft && !isOther)
    }
    // The crash may have come before new names were written to the disk.
    for key in unchecked { if let file = stored[key] { try noteChange(of: file.text) } }
    // An invalid line may belong to a change of any file.
    for (key, file) in stored
    where try !isThere(file, comparing: found.isDamaged || unchecked.contains(key)) {
      isStale = true
      stored[key] = nil
      if let old = previous[key], try isThere(old, comparing: true) {
        stored[key] = old
      } else {
        previewed[key] = file.text
        if owners[Self.folded(file.text)] == key { owners[Self.folded(file.text)] = nil }
        // If the new file was not renamed, another program may have taken its name.
        let isOurs = previous[key] != nil || !unchecked.contains(key)
        if isOurs, try regularFile(file.text) != nil {
          missing[key] = file
          missing[key]?.stamp = nil
        } else {
          try removeFile(file.text, isOurs: false)
        }
      }
    }
    // A key that was removed and stored again is in the order twice. The last place counts.
    var seen: Set<Key> = []
    order = order.reversed().filter { stored[$0] != nil && seen.insert($0).inserted }.reversed()
    try removeRemains()
  }

  /// Returns a Boolean value that indicates whether the file of an item exists.
  ///
  /// - Parameters:
  ///   - file: The item.
  ///   - comparing: A Boolean value that indicates whether to compare the checksum, too. Otherwise,
  ///     only the length is compared.
  func isThere(_ file: Stored, comparing: Bool = false) throws(StoreError) -> Bool {
    guard let (place, status) = try regularFile(file.text), status.size == file.size
    else { return false }
    guard comparing else { return true }
    return try place.folder.read(place.name).map { Checksum.of($0) == file.digest } ?? false
  }

  /// Removes new files, and previews of other keys.
  private func removeRemains() throws(StoreError) {
    let previews = Set((stored.values.map(\.text) + previewed.values).map(Self.previewName))
    for name in try state.names() where Self.isRemains(name) && !previews.contains(name) {
      try state.remove(name)
    }
  }

  /// Returns a Boolean value that indicates whether a crash of a store may leave a file with this name.
  private static func isRemains(_ name: String) -> Bool {
    if name == newIndexName { return true }
    if name.hasPrefix(newPrefix) { return UInt64(name.dropFirst(newPrefix.count)) != nil }
    let sum = name.dropFirst(previewPrefix.count)
    return name.hasPrefix(previewPrefix) && sum.count == 16 && UInt64(sum, radix: 16) != nil
  }
}

// MARK: - Names

extension DirectoryContents {
  /// Returns the names of folders and of a file in the text of a key.
  @discardableResult
  static func names(in text: String) throws(StoreError) -> [String] {
    let names = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
      .map { String(Substring($0)) }
    let reason: String? =
      if text.isEmpty {
        "it is empty"
      } else if names[0].isEmpty {
        "it begins with a slash"
      } else if names.contains("") {
        "a name in it is empty"
      } else if names.contains(where: { $0 == "." || $0 == ".." }) {
        "it has a name of dots only, which leads elsewhere"
      } else if text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) {
        "it has a control character"
      } else {
        nil
      }
    guard let reason else { return names }
    throw StoreError(
      .invalidName, "the key \(text.debugDescription) cannot be the path of a file: \(reason)",
      path: nil, help: "change the key, or give the store another text for it")
  }

  /// Returns a text that is equal for paths that a file system may take for one.
  private static func folded(_ text: String) -> String { text.uppercased().lowercased() }

  /// Opens the folders on the path of a file.
  ///
  /// - Returns: The place, or `nil` if a folder is missing.
  /// - Throws: ``StoreError`` if something else is in the place of a folder.
  private func place(
    of text: String, creating: Bool = false
  ) throws(StoreError) -> Place? {
    var place = Place(folder: folder, names: try Self.names(in: text))
    for name in place.names.dropLast() {
      guard let next = try place.folder.folder(name, creating: creating) else { return nil }
      place.folder = next
    }
    return place
  }

  /// Opens the folders on the path of a file, or returns `nil` if it cannot be there.
  private func existingPlace(of text: String) throws(StoreError) -> Place? {
    do throws(StoreError) {
      return try place(of: text)
    } catch {
      if [.notAFolder, .notAFile, .invalidName].contains(error.code) { return nil }
      throw error
    }
  }

  /// Returns the place and the status of a regular file, or `nil` if there is none.
  private func regularFile(
    _ text: String
  ) throws(StoreError) -> (place: Place, status: Folder.Status)? {
    do throws(StoreError) {
      guard let place = try existingPlace(of: text),
        let status = try place.folder.status(place.name), status.isRegular
      else { return nil }
      return (place, status)
    } catch {
      // A file system that does not take the name has no such file.
      if error.code == .invalidName { return nil }
      throw error
    }
  }

  /// Opens the place for the file of an item.
  ///
  /// - Returns: The place, or `nil` if a folder on its path is missing and is not created.
  /// - Throws: ``StoreError`` if another program has put something there.
  private func freePlace(
    for arrival: Arrival, creating: Bool
  ) throws(StoreError) -> Place? {
    let text = arrival.stored.text
    guard folder.path(of: text).utf8.count < Int(PATH_MAX) else {
      throw StoreError(ENAMETOOLONG, cannot: "use the path", folder.path(of: text))
    }
    guard var place = try place(of: text, creating: creating) else {
      // The file system says whether it takes the names of folders that are missing.
      for name in try Self.names(in: text) { _ = try folder.status(name) }
      return nil
    }
    guard let status = try place.folder.status(place.name) else { return place }
    place.isTaken = true
    let isTwin = try isFileOfOther(text)
    let isOurs = stored[arrival.key] != nil || missing[arrival.key] != nil
    if status.isRegular {
      if isOurs { return place }
      // A file of another program with the same bytes becomes the file of the item.
      if !isTwin, try isThere(arrival.stored, comparing: true) { return place }
    }
    throw StoreError(
      .foreign,
      isTwin
        ? "the file system takes two names for one" : "something else has the name of this item",
      path: folder.path(of: text), help: "rename or remove one of them")
  }

  /// Returns a Boolean value that indicates whether the file system takes a name for that of another item.
  private func isFileOfOther(_ text: String) throws(StoreError) -> Bool {
    guard let owner = owners[Self.folded(text)], let other = stored[owner]?.text,
      ExactString(other) != ExactString(text), let file = try regularFile(text)
    else { return false }
    return try file.status.identity == regularFile(other)?.status.identity
  }

  private static func previewName(of text: String) -> String {
    previewPrefix + Checksum.of(text.utf8).hexadecimal
  }

  /// Writes names to the disk that are new or gone.
  private mutating func writeFolders() throws(StoreError) {
    for path in unwritten.sorted(by: { $0.utf8.count > $1.utf8.count }) {
      try existingPlace(of: path.isEmpty ? "x" : path + "/x")?.folder.sync()
    }
    unwritten = []
  }

  /// Notes that the folders on the path of a file have changed.
  private mutating func noteChange(of text: String) throws(StoreError) {
    let names = try Self.names(in: text)
    for count in names.indices { unwritten.insert(names[..<count].joined(separator: "/")) }
  }
}

// MARK: - Storing

extension DirectoryContents {
  func content(of key: Key) throws(StoreError) -> [UInt8]? {
    guard let text = stored[key]?.text, let place = try existingPlace(of: text) else { return nil }
    return try place.folder.read(place.name)
  }

  /// Returns the text under which an equal key is known, or the given one.
  func text(of key: Key, _ text: String) -> String {
    stored[key]?.text ?? missing[key]?.text ?? previewed[key] ?? text
  }

  func preview(of key: Key, text: String) throws(StoreError) -> [UInt8]? {
    let text = self.text(of: key, text)
    guard let bytes = try state.read(Self.previewName(of: text)),
      bytes.starts(with: Self.previewHead(of: text))
    else { return nil }
    return Array(bytes.dropFirst(Self.previewHead(of: text).count))
  }

  /// Returns the bytes at the start of a preview. They tell texts with the same checksum apart.
  static func previewHead(of text: String) -> [UInt8] { Array(text.utf8) + [0] }

  /// Adds a preview whose bytes are in a new file.
  mutating func addPreview(_ newName: String, of key: Key, text: String) throws(StoreError) {
    do throws(StoreError) {
      try state.rename(newName, to: Self.previewName(of: text))
      if stored[key] == nil { previewed[key] = text }
    } catch {
      try? state.remove(newName)
      throw error
    }
  }

  /// Adds items whose bytes are in new files.
  ///
  /// - Returns: The error of each item, or `nil` if it was added. An error about one item alone may be a refusal.
  mutating func add(_ arrivals: [Arrival]) -> [(any Error)?] {
    var (arrivals, errors) = (arrivals, [(any Error)?](repeating: nil, count: arrivals.count))
    func fail(_ offsets: some Sequence<Int>, _ error: any Error) {
      for offset in offsets where errors[offset] == nil {
        errors[offset] = error
        try? state.remove(arrivals[offset].newName)
      }
    }
    for offset in arrivals.indices {
      do throws(StoreError) {
        let text = text(of: arrivals[offset].key, arrivals[offset].stored.text)
        arrivals[offset].stored.text = text
        _ = try freePlace(for: arrivals[offset], creating: false)
        try noteChange(of: text)
      } catch {
        fail([offset], error.asRefusal)
      }
    }
    let free = arrivals.indices.filter { errors[$0] == nil }
    if free.isEmpty { return errors }
    do throws(StoreError) {
      try append(free.map { line(arrivals[$0].stored) })
    } catch {
      fail(free, error)
      return errors
    }
    for offset in free {
      let arrival = arrivals[offset]
      do throws(StoreError) {
        // Another item of these may have got the name meanwhile.
        guard let place = try freePlace(for: arrival, creating: true) else {
          throw StoreError(ENOENT, cannot: "create", folder.path(of: arrival.stored.text))
        }
        try state.rename(
          arrival.newName, to: place.name, in: place.folder, replacing: place.isTaken)
        if stored.updateValue(arrival.stored, forKey: arrival.key) == nil {
          order.append(arrival.key)
        }
        owners[Self.folded(arrival.stored.text)] = arrival.key
        previewed[arrival.key] = nil
        missing[arrival.key] = nil
      } catch {
        isStale = true
        fail([offset], error.asRefusal)
        try? removeFile(arrival.stored.text, isOurs: false)
      }
    }
    do throws(StoreError) {
      try writeFolders()
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
    let gone = keys.compactMap { key in
      (stored[key] ?? missing[key]).map { (key: key, file: $0) }
    }
    guard !gone.isEmpty else { return }
    try append(gone.map { DirectoryIndex.Line(key: $0.file.text) })
    var failure: StoreError?
    for (key, file) in gone {
      do throws(StoreError) {
        try removeFile(file.text, isOurs: true)
        try state.remove(Self.previewName(of: file.text))
        (stored[key], missing[key]) = (nil, nil)
        if owners[Self.folded(file.text)] == key { owners[Self.folded(file.text)] = nil }
      } catch {
        // The item stays.
        isStale = true
        failure = failure ?? error
      }
    }
    order.removeAll { stored[$0] == nil }
    if let failure { throw failure }
    try writeFolders()
  }

  /// Removes a file if it is one of the store, and the folders on its path that are empty then.
  private mutating func removeFile(_ text: String, isOurs: Bool) throws(StoreError) {
    try noteChange(of: text)
    if isOurs, let (place, _) = try regularFile(text) { try place.folder.remove(place.name) }
    var names = try Self.names(in: text).dropLast()
    while !names.isEmpty {
      if let place = try existingPlace(of: names.joined(separator: "/")),
        try !place.folder.removeFolder(place.name)
      {
        return
      }
      names.removeLast()
    }
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
      for (key, text) in previewed where !listed.contains(key) {
        try state.remove(Self.previewName(of: text))
        previewed[key] = nil
      }
    }
    if isAppended || isStale { try writeIndex() }
  }

  private mutating func append(_ lines: [DirectoryIndex.Line]) throws(StoreError) {
    var bytes: [UInt8] = []
    for line in lines { bytes += try DirectoryIndex.encode(line) }
    // Replace an index that is not a regular file, or that has a second name. The second name may be
    // outside of the folder, and appending would change that file.
    let index = try state.status(Self.indexName)
    if isStale || index?.isRegular != true || index?.linkCount != 1 { try writeIndex() }
    isAppended = true
    do throws(StoreError) {
      try state.append(bytes, to: Self.indexName)
    } catch {
      isStale = true
      throw error
    }
  }

  private mutating func writeIndex() throws(StoreError) {
    let bytes = try DirectoryIndex.encode(
      settled: order.compactMap { key in stored[key].map(line) } + missing.values.map(line))
    try state.remove(Self.newIndexName)
    try state.create(Self.newIndexName, bytes)
    // The files must be on the disk before the lines.
    try writeFolders()
    try state.rename(Self.newIndexName, to: Self.indexName)
    try state.sync()
    (isAppended, isStale) = (false, false)
  }

  private func line(_ file: Stored) -> DirectoryIndex.Line {
    DirectoryIndex.Line(
      key: file.text,
      file: .init(size: file.size, digest: file.digest.hexadecimal, stamp: file.stamp))
  }
}
