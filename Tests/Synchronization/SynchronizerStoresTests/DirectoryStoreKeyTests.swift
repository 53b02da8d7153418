import DataSourceTesting
import Diffing
import Foundation
import ObservableCollections
import Synchronizers
import TestSupport
import Testing

@testable import SynchronizerStores

@Suite struct DirectoryStoreKeyTests {
  private let directory: TemporaryDirectory
  private var path: String { directory("inside/pages") }

  init() throws { directory = try TemporaryDirectory() }

  static let hostileKeys: [String] = [
    "", ".", "..", "...", "/", "//", "/etc/passwd", "../outside", "a/b", "a/../../b", "a//b", "./a",
    "~", "~root", "-", "-rf", "a", "A", "aa", "aA", "Aa", "AA", ".hidden", "trailing.", "a.b",
    "a..b",
    "photo.jpg", "photo.JPG", " ", " a", "a ", "\t", "\n", "a\nb", "\r\n", "\0", "a\0", "a\0b",
    "\u{7F}",
    "\u{1B}[31m", "\u{E9}", "e\u{301}", "\u{301}", "\u{301}\u{301}", "\u{1E69}", "s\u{307}\u{323}",
    "s\u{323}\u{307}", "\u{212B}", "\u{C5}", "ﬁ", "ß", "ss", "ı", "İ", "😀", "👨‍👩‍👧", "\u{202E}abc",
    "\u{FEFF}", "\u{FFFD}", "\u{10FFFF}", "+index.jsonl", "+index.new", "+new-1", "+preview-a",
    "index.jsonl", "=", "=61", "=h", "==", "%2e", "\\", "a\\b", "C:", "con", "CON", "con.txt",
    "nul",
    "com1", "lpt9", "a:b", "*", "?", "\"", "'", "$(rm)", "`", "<>|",
    String(repeating: "x", count: 10_000), String(repeating: "x", count: 10_001),
    String(repeating: "X", count: 10_000), String(repeating: "é", count: 10_000),
    String(repeating: "../", count: 4_000), String(repeating: "y", count: 180),
    String(repeating: "y", count: 181), String(repeating: "y", count: 255),
    String(repeating: "y", count: 256), String(repeating: "\0", count: 60),
    String(repeating: "\0", count: 61),
  ]

  /// Returns all files below a folder, with their contents.
  private func files(below folder: String) throws -> [String: Data] {
    var files: [String: Data] = [:]
    for name in try FileManager.default.subpathsOfDirectory(atPath: folder) {
      files[name] = FileManager.default.contents(atPath: folder + "/" + name)
    }
    return files
  }

  /// Checks that names are plain and distinct without case and normalization.
  private func check(names: [String]) throws {
    let plain = Set("abcdefghijklmnopqrstuvwxyz0123456789-_.=".utf8)
    try #require(Set(names).count == names.count)
    for name in names {
      try #require(name.utf8.allSatisfy(plain.contains) && (1...255).contains(name.utf8.count))
      try #require(name.first != "." && name.last != "." && name.first != "-", "\(name)")
    }
  }

  private func check(_ keys: [String]) async throws {
    func content(_ key: String) -> [UInt8] { Array("content of ".utf8) + Array(key.utf8) }
    try directory.makeDirectory("inside")
    try directory.write("outside", to: "outside")
    let pages = keys.map { Page(id: ExactString($0)) }
    do {
      let store = try PageStore.make(path)
      for page in pages {
        try await store.storePreview(Array("preview".utf8) + content(page.id.string), of: page)
        try await store.store(content(page.id.string), of: page)
      }
      try await store.finish(pages)
    }
    // There are only the folder and the older files.
    #expect(
      Set(try FileManager.default.contentsOfDirectory(atPath: directory.path)) == [
        "inside", "outside",
      ])
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory("inside")) == ["pages"])
    let names = try FileManager.default.contentsOfDirectory(atPath: path)
    try check(names: names.filter { !$0.hasPrefix("+") })
    #expect(names.filter { !$0.hasPrefix("+") }.count == keys.count)
    #expect(names.count == 2 * keys.count + 1)

    var rest = pages
    do {
      let store = try PageStore.make(path)
      #expect(try await store.keys() == Set(pages.map(\.id)))
      #expect(store.snapshot.map(\.key) == pages.map(\.id))
      for page in pages {
        try #require(try store.contents(forKey: page.id) == content(page.id.string))
        try #require(
          try store.preview(forKey: page.id) == Array("preview".utf8) + content(page.id.string))
        try #require(try await !store.isOutdated(page))
      }
      // Remove every other item. The others stay.
      rest = pages.enumerated().filter { $0.offset % 2 == 0 }.map(\.element)
      try await store.remove(Set(pages.map(\.id)).subtracting(rest.map(\.id)))
      for page in rest.prefix(9) { try await store.store([1, 2, 3], of: page) }
    }
    let store = try PageStore.make(path)
    #expect(try await store.keys() == Set(rest.map(\.id)))
    for (offset, page) in rest.enumerated() {
      let expected = offset < 9 ? [1, 2, 3] : content(page.id.string)
      try #require(try store.contents(forKey: page.id) == expected)
    }
    try await store.remove(Set(rest.map(\.id)))
    try await store.finish([])
    #expect(try FileManager.default.contentsOfDirectory(atPath: path) == ["+index.jsonl"])
    #expect(try String(contentsOfFile: directory("outside"), encoding: .utf8) == "outside")
  }

  @Test func `hostile keys keep their contents`() async throws {
    #expect(Set(Self.hostileKeys.map { ExactString($0) }).count == Self.hostileKeys.count)
    try await check(Self.hostileKeys)
  }

  @Test func `two keys never share a name`() throws {
    // Compare the best three names of each key. A key gets the first free one.
    let names = Self.hostileKeys.map { key in
      Array(FileName.candidates(for: key.utf8, hash: Checksum.of(key.utf8)).prefix(3))
    }
    for (offset, one) in names.enumerated() {
      try check(names: one)
      for (otherOffset, other) in names[..<offset].enumerated() {
        let keys = (Self.hostileKeys[offset].prefix(20), Self.hostileKeys[otherOffset].prefix(20))
        try #require(Set(one).isDisjoint(with: other), "\(keys)")
      }
    }
    for name in names.joined() { #expect(FileName.isPossible(name)) }
  }

  @Test func `random keys keep their contents`() async throws {
    var random = SeededGenerator(seed: 20)
    let parts = [
      "a", "A", "b", ".", "..", "/", "=", "+", "-", "é", "e\u{301}", "\u{301}", "\0", "=61", "x",
    ]
    var keys: Set<ExactString> = []
    while keys.count < (TestRun.isLong ? 5000 : 150) {
      let count = random.oneIn(20) ? random.below(400) : random.below(6)
      keys.insert(ExactString((0..<count).map { _ in parts[random.below(parts.count)] }.joined()))
    }
    try await check(keys.sorted().map(\.string))
  }

  @Test func `keys with equal hashes have distinct files`() async throws {
    // An attacker would choose such keys.
    func open() throws -> PageStore {
      try PageStore(
        path: path, text: { $0.string }, key: { ExactString($0) }, stamp: { $0.stamp }, hook: nil,
        hash: { _ in 7 })
    }
    let start = String(repeating: "long", count: 100)
    let keys = (0..<12).map { ExactString(start + String($0)) }
    do {
      let store = try open()
      for key in keys { try await store.store(Array(key.string.utf8), of: Page(id: key)) }
      // The name belonged to another key, whose content and preview must not appear.
      try await store.storePreview([1], of: Page(id: keys[3]))
      try await store.remove([keys[3]])
      let late = ExactString(start + "late")
      try await store.store(Array(late.string.utf8), of: Page(id: late))
      #expect(try store.preview(forKey: late) == nil)
    }
    let store = try open()
    for key in keys + [ExactString(start + "late")] where key != keys[3] {
      #expect(try store.contents(forKey: key) == Array(key.string.utf8))
    }
    #expect(try store.contents(forKey: keys[3]) == nil)
    #expect(try FileManager.default.contentsOfDirectory(atPath: path).count == 13)
  }

  @Test func `a readable key is its own file name`() async throws {
    let store = try PageStore.make(path)
    for key in ["readme", "photo_1-b.jpg", "2026-11-21"] {
      try await store.store([1], of: Page(id: ExactString(key)))
    }
    try await store.finish(nil)
    #expect(
      store.snapshot.map(\.path)
        == ["readme", "photo_1-b.jpg", "2026-11-21"].map {
          path + "/" + $0
        })
  }

  @Test func `equal keys are one item`() async throws {
    struct Item: Hashable, Identifiable, Sendable, Differentiable { var id: String }
    do {
      let store = try DirectoryStore<Item>(path: path, stamp: { _ in "1" })
      try await store.store([1], of: Item(id: "\u{E9}"))
      try await store.store([2], of: Item(id: "e\u{301}"))
      #expect(try await store.keys().count == 1)
    }
    let store = try DirectoryStore<Item>(path: path, stamp: { _ in "1" })
    #expect(try store.contents(forKey: "\u{E9}") == [2])
  }
}
