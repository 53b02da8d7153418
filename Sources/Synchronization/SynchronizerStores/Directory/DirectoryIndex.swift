import Foundation
import SwappablePrimitives

/// The index of a ``DirectoryStore``: a journal of JSON Lines about the files of keys.
///
/// The first line is a header. It has the number of *settled* lines: these were written in one
/// operation, after their files were on the disk. Later lines were appended one by one. Each line
/// after the header begins with a checksum of its rest.
enum DirectoryIndex {
  /// A line of the index: the file of a key, or the removal of a key.
  struct Line: Codable, Hashable {
    var key: String
    /// The file of the item, or `nil` if the item was removed.
    var file: File?

    struct File: Codable, Hashable {
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

  /// The contents of an index file.
  struct Contents {
    /// The valid lines.
    var lines: [Line] = []
    /// The number of valid lines that are settled.
    var settledCount = 0
    /// A Boolean value that indicates whether there are invalid lines.
    var isDamaged = false
    /// A Boolean value that indicates whether the last line is incomplete.
    ///
    /// A crash interrupted the write of the line, before the operation of the line began.
    var isTorn = false
  }

  static func encode(_ line: Line) throws(StoreError) -> [UInt8] {
    // The checksum covers the text after the opening brace.
    let body = Array(try JSONCoding.encode(line, "a key or a stamp", path: nil)).dropFirst()
    return Array(checkStart.utf8) + Array(Checksum.of(body).hexadecimal.utf8)
      + Array(checkEnd.utf8) + body + [UInt8(ascii: "\n")]
  }

  static func encode(settled lines: [Line]) throws(StoreError) -> [UInt8] {
    var bytes = Array(try JSONCoding.encode(Header(count: lines.count), "the header", path: nil))
    bytes.append(UInt8(ascii: "\n"))
    for line in lines { bytes += try encode(line) }
    return bytes
  }

  static func decode(_ bytes: [UInt8], path: String) throws(StoreError) -> Contents {
    var contents = Contents()
    var parts = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    contents.isTorn = !parts.removeLast().isEmpty
    guard let first = parts.first,
      let header = try? JSONCoding.decoder.decode(Header.self, from: Data(first)),
      header.format == Header().format
    else {
      throw StoreError(
        .foreign, "the file is not the index of a directory store", path: path, place: "line 1",
        help: "use another folder; or remove the file, and download all items again")
    }
    guard header.version == Header().version else {
      throw StoreError(
        .newer, "the index has version \(header.version), but this program knows only version 1",
        path: path, place: "line 1", help: "use the newer program that wrote the index")
    }
    for (offset, part) in parts.dropFirst().enumerated() {
      guard let line = decode(part) else {
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

  private static func decode(_ bytes: ArraySlice<UInt8>) -> Line? {
    guard bytes.starts(with: checkStart.utf8) else { return nil }
    let rest = bytes.dropFirst(checkStart.utf8.count)
    let body = rest.dropFirst(16 + checkEnd.utf8.count)
    guard rest.dropFirst(16).starts(with: checkEnd.utf8),
      rest.prefix(16).elementsEqual(Checksum.of(body).hexadecimal.utf8)
    else { return nil }
    return try? JSONCoding.decoder.decode(Line.self, from: Data([UInt8(ascii: "{")] + body))
  }
}
