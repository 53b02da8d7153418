import Foundation

/// The journal of a ``DirectoryStore``: JSON Lines that say which key is in which file.
///
/// The first line says what it is, and how many of the lines after it were written at once, when all that
/// they tell was on the disk. Each of the others begins with a checksum of the rest of it.
enum DirectoryIndex {
  /// What is kept of one item, or that none is.
  struct Line: Codable, Hashable {
    var key: String
    /// nil where the item was removed.
    var file: File?

    struct File: Codable, Hashable {
      var name: String
      var size: Int
      var digest: String
      var stamp: String?
    }
  }

  private struct Header: Codable {
    var format = "swappable.directory"
    var version = 1
    var count = 0
  }

  /// What was read of a journal.
  struct Contents {
    /// Those that can be read.
    var lines: [Line] = []
    /// How many of them stood in the part that was written at once.
    var settledCount = 0
    /// Whether there are lines that cannot be read.
    var isDamaged = false
    /// Whether the last line has no end: a crash tore it, and nothing was done yet of what it tells.
    var isTorn = false
  }

  static func encode(_ line: Line) throws(StoreError) -> [UInt8] {
    // Between the braces; the keys of the members stand in any order.
    let body = try encodeJSON(line).dropFirst()
    return Array(checkStart.utf8) + Array(Checksum.digits(Checksum.of(body)).utf8)
      + Array(checkEnd.utf8) + body + [UInt8(ascii: "\n")]
  }

  static func encode(settled lines: [Line]) throws(StoreError) -> [UInt8] {
    var bytes = try encodeJSON(Header(count: lines.count)) + [UInt8(ascii: "\n")]
    for line in lines { bytes += try encode(line) }
    return bytes
  }

  static func decode(_ bytes: [UInt8], path: String) throws(StoreError) -> Contents {
    var contents = Contents()
    var parts = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    contents.isTorn = !parts.removeLast().isEmpty
    let decoder = JSONCoding.decoder()
    guard let first = parts.first,
      let header = try? decoder.decode(Header.self, from: Data(first)),
      header.format == Header().format
    else {
      throw StoreError(
        .foreign, "this is not the index of a directory store", path: path, place: "line 1",
        help: "give another folder, or remove the file; all items are then downloaded again")
    }
    guard header.version == Header().version else {
      throw StoreError(
        .newer, "this index is of version \(header.version), and only version 1 is known",
        path: path, place: "line 1", help: "use the newer program that wrote it")
    }
    for (offset, part) in parts.dropFirst().enumerated() {
      guard let line = decode(part, decoder) else {
        contents.isDamaged = true
        continue
      }
      contents.lines.append(line)
      if offset < header.count { contents.settledCount += 1 }
    }
    return contents
  }

  private static let checkStart = #"{"check":""#
  private static let checkEnd = #"","#

  private static func decode(_ bytes: ArraySlice<UInt8>, _ decoder: JSONDecoder) -> Line? {
    guard bytes.starts(with: checkStart.utf8) else { return nil }
    let rest = bytes.dropFirst(checkStart.utf8.count)
    let body = rest.dropFirst(16 + checkEnd.utf8.count)
    guard rest.dropFirst(16).starts(with: checkEnd.utf8),
      rest.prefix(16).elementsEqual(Checksum.digits(Checksum.of(body)).utf8)
    else { return nil }
    return try? decoder.decode(Line.self, from: Data([UInt8(ascii: "{")] + body))
  }

  private static func encodeJSON(_ value: some Encodable) throws(StoreError) -> [UInt8] {
    do {
      return Array(try JSONCoding.encoder().encode(value))
    } catch {
      throw StoreError(
        .unencodable, "a key or a stamp cannot be written as JSON", path: nil,
        help: "change the key or the stamp", underlying: error)
    }
  }
}
