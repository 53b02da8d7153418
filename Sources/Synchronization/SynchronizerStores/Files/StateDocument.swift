import Diffing
import Foundation
import ObservableCollections
import SwappablePrimitives
import Synchronizers

/// The JSON document of a state. The first line is a header with a checksum of the second line.
///
///     {"format":"swappable.synchronization","version":1,"check":"0123456789abcdef","state":
///     {"lists":[[…],[…]],"client":0,"shadow":0,…}
///     }
struct StateDocument<
  Element: Codable & Differentiable & Sendable, Version: Hashable & Codable & Sendable
>: Codable {
  struct Push: Codable {
    var id: String
    var version: Version
    var client: Int
    var merged: Int
  }

  /// The distinct lists of the state. The other properties are indices of lists.
  var lists: [[Element]] = []
  var client = 0
  var shadow = 0
  var version: Version?
  var push: Push?

  init(_ state: SynchronizationState<Element, Version>) {
    var known: [Snapshot<Element>] = []
    func add(_ list: Snapshot<Element>) -> Int {
      if let index = known.firstIndex(where: { $0.hasSameContents(as: list) }) { return index }
      known.append(list)
      return known.count - 1
    }
    client = add(state.client)
    shadow = add(state.shadow)
    version = state.version
    push = state.push.map { push in
      Push(
        id: push.id, version: push.version, client: add(push.client), merged: add(push.merged))
    }
    lists = known.map { Array($0) }
  }

  /// The state, or `nil` if an index is out of range.
  var state: SynchronizationState<Element, Version>? {
    // Create one snapshot for each list, because equal lists of a state should share storage.
    let snapshots = lists.map { Snapshot($0) }
    func list(_ index: Int) -> Snapshot<Element>? {
      snapshots.indices.contains(index) ? snapshots[index] : nil
    }
    guard let client = list(client), let shadow = list(shadow) else { return nil }
    var state = SynchronizationState(client: client, shadow: shadow, version: version)
    if let push {
      guard let client = list(push.client), let merged = list(push.merged) else { return nil }
      state.push = SynchronizationState.PendingPush(
        id: push.id, version: push.version, client: client, merged: merged)
    }
    return state
  }
}

extension StateDocument {
  private static var start: String { #"{"format":"swappable.synchronization","version":"# }
  private static var version: String { #"1,"check":""# }
  private static var end: String { #"","state":"# + "\n" }

  /// Returns the bytes of the file.
  func encoded(path: String) throws(StoreError) -> [UInt8] {
    let body = try JSONCoding.encode(self, "an element", path: path)
    let check = Checksum.of(body).hexadecimal
    return Array((Self.start + Self.version + check + Self.end).utf8) + body + Array("\n}\n".utf8)
  }

  /// Creates a document from the bytes of a file.
  init(_ bytes: [UInt8], path: String) throws(StoreError) {
    func damaged(_ message: String, _ place: String) -> StoreError {
      StoreError(
        .damaged, message, path: path, place: place,
        help: "restore a copy of the file, or remove it to begin again")
    }
    let start = Array(Self.start.utf8)
    guard bytes.starts(with: start) else {
      throw StoreError(
        .foreign, "the file is not the saved state of a session", path: path, place: "line 1",
        help: "use another path, or remove the file")
    }
    let version = Array(Self.version.utf8)
    guard bytes.dropFirst(start.count).starts(with: version) else {
      let digits = bytes.dropFirst(start.count).prefix { UInt8(ascii: "0")...57 ~= $0 }
      guard let number = Int(String(decoding: digits, as: UTF8.self)), number > 1 else {
        throw damaged("the first line is damaged", "line 1, byte \(start.count + 1)")
      }
      throw StoreError(
        .newer, "the file has version \(number), but this program knows only version 1",
        path: path, place: "line 1", help: "use the newer program that wrote the file")
    }
    let rest = bytes.dropFirst(start.count + version.count)
    let check = rest.prefix(16)
    guard rest.dropFirst(16).starts(with: Self.end.utf8) else {
      throw damaged("the first line is damaged", "line 1")
    }
    let body = rest.dropFirst(16 + Self.end.utf8.count).dropLast(3)
    guard bytes.suffix(3).elementsEqual("\n}\n".utf8), !body.isEmpty else {
      throw damaged("the file is truncated", "byte \(bytes.count)")
    }
    guard check.elementsEqual(Checksum.of(body).hexadecimal.utf8) else {
      throw damaged("the checksum of the saved state is wrong", "line 2")
    }
    do {
      self = try JSONCoding.decoder.decode(Self.self, from: Data(body))
    } catch {
      throw StoreError(
        .undecodable, "the file has elements or a version of another type", path: path,
        place: JSONCoding.place(of: error),
        help: "use the types that it was saved with, or compatible ones", underlying: error)
    }
  }
}
