import DataSourceTesting
import Diffing
import Foundation
import ObservableCollections
import SwappablePrimitives
import SynchronizerStores
import Synchronizers
import TestSupport
import Testing

@Suite struct DirectoryStoreKeyTests {
  private let directory: TemporaryDirectory
  private var path: String { directory("inside/pages") }

  init() throws { directory = try TemporaryDirectory() }

  private static let long = String(repeating: "y", count: 255)

  static let possibleKeys: [String] = [
    "a", "A", "aa", "aA", "Aa", "AA", "...", "....", ".hidden", "trailing.", "a.b", "a..b",
    "photo.jpg", "photo.JPG", " ", " a", "a ", "-", "-rf", "~", "~root", "sub/x.txt", "sub/X.txt",
    "sub/deep/y", "sub/.hidden", "Sub/x.txt", " sub/ x", "-sub/-x", "\u{E9}", "e\u{301}", "\u{301}",
    "x/\u{301}", "x/\u{301}\u{301}", "\u{1E69}", "s\u{307}\u{323}", "s\u{323}\u{307}", "\u{212B}",
    "\u{C5}", "ﬁ", "ß", "ss", "ı", "İ", "😀", "👨‍👩‍👧/😀", "\u{202E}abc", "\u{FEFF}", "\u{FFFD}",
    "\u{10FFFF}", "index.jsonl", "index.new", "new-1", "preview-a", ".pages.store/index.jsonl", "=",
    "=61", "%2e", "\\", "a\\b", "C:", "con", "CON", "con.txt", "nul", "com1", "a:b", "*", "?", "\"",
    "'", "$(rm)", "`", "<>|", long, "long/" + long, "\(long.dropLast())z/\(long)",
    String(repeating: "d/", count: 300) + "deep",
  ]

  static let impossibleKeys: [String] = [
    "", ".", "..", "/", "//", "/etc/passwd", "../outside", "a/../../b", "a//b", "./a", "a/.", "a/",
    "sub/../x", "\t", "\n", "a\nb", "\r\n", "\0", "a\0", "a\0b", "\u{7F}", "\u{85}", "\u{1B}[31m",
    long + "y", "sub/" + long + "y", long + "y/x", String(repeating: "é", count: 128),
    String(repeating: "../", count: 4_000) + "x", String(repeating: "d/", count: 2_500) + "deep",
    String(repeating: "x", count: 10_000),
  ]

  private func content(_ key: ExactString) -> String { "content of " + key.string }

  private func expected(_ pages: [Page]) -> [ExactString: String] {
    Dictionary(uniqueKeysWithValues: pages.map { ($0.id, content($0.id)) })
  }

  private func store(_ pages: [Page], in store: PageStore) async throws {
    for page in pages {
      try await store.storePreview(Array(("p" + content(page.id)).utf8), of: page)
      try await store.store(Array(content(page.id).utf8), of: page)
    }
    try await store.finish(pages)
  }

  private func check(_ keys: [String]) async throws {
    try directory.makeDirectory("inside")
    try directory.write("outside", to: "outside")
    let pages = keys.map { Page(id: ExactString($0)) }
    do {
      try await store(pages, in: try PageStore.make(path))
    }
    let files = try directory.files(below: "inside/pages")
    for (key, content) in expected(pages) { #expect(files[key] == content, "\(key)") }
    #expect(files.count == pages.count)
    // There are only the two folders of the store, and what was there before.
    #expect(Set(try directory.names) == ["inside", "outside"])
    let inside = try FileManager.default.contentsOfDirectory(atPath: directory("inside"))
    #expect(Set(inside) == ["pages", ".pages.store"])

    var rest = pages
    do {
      let store = try PageStore.make(path)
      #expect(try await store.keys() == Set(pages.map(\.id)))
      #expect(store.snapshot.map(\.key) == pages.map(\.id))
      for page in pages {
        let content = content(page.id)
        try #require(try store.contents(forKey: page.id) == Array(content.utf8))
        try #require(try store.preview(forKey: page.id) == Array(("p" + content).utf8))
        try #require(try await !store.isOutdated(page))
      }
      // Remove every other item. The others stay.
      rest = pages.enumerated().filter { $0.offset % 2 == 0 }.map(\.element)
      try await store.remove(Set(pages.map(\.id)).subtracting(rest.map(\.id)))
    }
    #expect(try directory.files(below: "inside/pages") == expected(rest))
    let store = try PageStore.make(path)
    #expect(try await store.keys() == Set(rest.map(\.id)))
    try await store.remove(Set(rest.map(\.id)))
    try await store.finish([])
    // Neither a file nor a folder is left.
    #expect(try FileManager.default.subpathsOfDirectory(atPath: path) == [])
    let own = try FileManager.default.contentsOfDirectory(atPath: directory("inside/.pages.store"))
    #expect(own == ["index.jsonl"])
    #expect(try String(contentsOfFile: directory("outside"), encoding: .utf8) == "outside")
  }

  @Test func `names stay as they are`() async throws {
    #expect(Set(Self.possibleKeys.map { ExactString($0) }).count == Self.possibleKeys.count)
    try await check(Self.possibleKeys)
  }

  @Test func `impossible names are refused, and the others go on`() async throws {
    try directory.makeDirectory("inside")
    let store = try PageStore.make(path)
    for key in Self.impossibleKeys {
      let page = Page(id: ExactString(key))
      for error in [
        await storeError { try await store.store([1], of: page) },
        await storeError { try await store.storePreview([1], of: page) },
      ] where key.utf8.count < 200 || error != nil {
        #expect(error?.code == .invalidName, "\(key.prefix(20))")
        #expect(error?.description.contains("\n") == false)
      }
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: path) == [])
    let own = try FileManager.default.contentsOfDirectory(atPath: directory("inside/.pages.store"))
    #expect(own.filter { !$0.hasPrefix("preview-") } == ["index.jsonl"])

    // A run names them, and stores the others.
    let pages = (Self.impossibleKeys + ["a", "b/c"]).map { Page(id: ExactString($0)) }
    let remote = PageRemote(pages)
    let outcome = try await OneWaySynchronizer(from: remote, to: store).sync()
    #expect(Set(outcome.refusedKeys) == Set(Self.impossibleKeys))
    #expect(outcome.diagnostics.count { $0.code == "refused-item" } == Self.impossibleKeys.count)
    #expect(outcome.contents == 2)
    #expect(outcome.description.hasSuffix(", \(Self.impossibleKeys.count) refused"))
    #expect(try await store.keys() == ["a", "b/c"])
    #expect(
      outcome.diagnostics.contains {
        $0.message
          == #""a//b": the key "a//b" cannot be the path of a file: a name in it is empty; "#
          + "change the key, or give the store another text for it"
      })
  }

  @Test func `a long name in a new folder refuses nothing else`() async throws {
    let long = String(repeating: "l", count: 300)
    let pages = ["dir/\(long)/x", "dir/\(long)", "dir/ok", "b"].map { Page(id: ExactString($0)) }
    for _ in 1...2 {
      let store = try PageStore.make(path)
      for page in pages {
        let error = await storeError {
          try await store.store(PageRemote.content(page), of: page)
        }
        #expect((error?.code == .invalidName) == page.id.string.contains(long))
      }
      try await store.finish(pages)
      #expect(try await store.keys() == ["dir/ok", "b"])
    }
  }

  @Test func `equal texts with other bytes are refused one by one`() async throws {
    let pages = ["\u{E9}//x", "e\u{301}//x", "\u{E9}"].map { Page(id: ExactString($0)) }
    let store = try PageStore.make(path)
    let outcome = try await OneWaySynchronizer(from: PageRemote(pages), to: store).sync()
    #expect(outcome.refusedKeys.count == 2 && outcome.newKeys == ["\u{E9}"])
    #expect(outcome.diagnostics.count == 2)
  }

  @Test func `random names keep their contents`() async throws {
    var random = SeededGenerator(seed: 20)
    let parts = ["a", "A", "b", ".", "=", "+", "-", "é", "e\u{301}", "\u{301}", " ", "x"]
    var keys: Set<ExactString> = []
    // Two letters at the start tell files from folders.
    func name(_ start: String) -> String {
      let count = random.oneIn(20) ? random.below(80) : random.below(6)
      return start + (0..<count).map { _ in parts[random.below(parts.count)] }.joined()
    }
    while keys.count < (TestRun.isLong ? 5000 : 150) {
      let folders = (0..<random.below(4)).map { _ in name("d") + "/" }
      keys.insert(ExactString(folders.joined() + name("f")))
    }
    try await check(keys.sorted().map(\.string))
  }

  @Test func `a file becomes a folder, and a folder a file`() async throws {
    let store = try PageStore.make(path)
    var options = OneWaySynchronizer.Options()
    options.removalLimit = .none
    for keys: [ExactString] in [
      ["a", "b"], ["a/b", "a/c/d", "b"], ["a/c", "b/x"], ["a", "b"], ["a/b/c/d/e"], ["a/b/c"], [],
    ] {
      let pages = keys.map { Page(id: $0) }
      let synchronizer = OneWaySynchronizer(from: PageRemote(pages), to: store, options: options)
      let plan = try await synchronizer.plan()
      let outcome = try await synchronizer.sync()
      #expect(outcome.refusedKeys == [] && plan.description == outcome.description)
      #expect(
        try directory.files(below: "inside/pages")
          == Dictionary(
            uniqueKeysWithValues: pages.map {
              ($0.id, String(decoding: PageRemote.content($0), as: UTF8.self))
            }))
    }
    #expect(try FileManager.default.subpathsOfDirectory(atPath: path) == [])
  }

  @Test func `of a file and a folder with one name, one is refused`() async throws {
    let store = try PageStore.make(path)
    let pages = ["x", "a", "a/b", "y"].map { Page(id: ExactString($0)) }
    for _ in 1...2 {
      let outcome = try await OneWaySynchronizer(from: PageRemote(pages), to: store).sync()
      #expect(outcome.refusedKeys.count == 1)
      #expect(try await store.keys().count == 3)
    }
  }

  @Test func `what others have put in the way stays, and is named`() async throws {
    try directory.makeDirectory("inside/pages/folder/sub")
    try directory.makeDirectory("outside")
    try directory.write("mine", to: "inside/pages/file")
    try directory.write("mine", to: "inside/pages/parent")
    try directory.write("mine", to: "inside/pages/folder/sub/file")
    try directory.write("precious", to: "outside/file")
    try directory.link("inside/pages/link", to: directory("outside/file"))
    try directory.link("inside/pages/away", to: directory("outside"))
    try directory.link("inside/pages/broken", to: directory("nowhere"))
    #expect(mkfifo(path + "/pipe", 0o600) == 0)
    let before = try directory.files(below: "")
    let refused = [
      "file", "parent/x", "parent/x/y", "folder", "folder/sub", "folder/sub/file", "link",
      "link/x", "away", "away/file", "away/new", "broken", "broken/x", "pipe", "pipe/x",
    ]
    let free: [ExactString] = ["a", "folder/x", "folder/sub/x", "new/file"]
    let pages = refused.map { Page(id: ExactString($0)) } + free.map { Page(id: $0) }
    let store = try PageStore.make(path)
    var options = OneWaySynchronizer.Options()
    options.removalLimit = .none
    for concurrency in [1, 8] {
      options.concurrency = concurrency
      let outcome = try await OneWaySynchronizer(
        from: PageRemote(pages), to: store, options: options
      ).sync()
      #expect(Set(outcome.refusedKeys) == Set(refused))
      #expect(try await store.keys() == Set(free))
    }
    // Nothing of the others is removed with the last item.
    _ = try await OneWaySynchronizer(from: PageRemote([]), to: store, options: options).sync()
    let after = try directory.files(below: "").filter { !$0.key.string.contains(".store/") }
    #expect(after == before)
  }

  @Test func `a file of others with the same bytes becomes the file of an item`() async throws {
    let pages = ["a", "sub/b", "c"].map { Page(id: ExactString($0)) }
    do {
      let store = try PageStore.make(path)
      _ = try await OneWaySynchronizer(from: PageRemote(pages), to: store).sync()
    }
    try directory.write("other", to: "inside/pages/c")
    // The folder was moved without the store's own files.
    try directory.move("inside/pages", to: "inside/moved")
    let store = try PageStore.make(directory("inside/moved"))
    #expect(try await store.keys() == [])
    let outcome = try await OneWaySynchronizer(from: PageRemote(pages), to: store).sync()
    #expect(outcome.refusedKeys == ["c"])
    #expect(try await store.keys() == ["a", "sub/b"])
    try await store.remove(["sub/b"])
    #expect(try directory.files(below: "inside/moved").keys.map(\.string).sorted() == ["a", "c"])
  }

  @Test func `a link or another thing in place of a stored file is not replaced`() async throws {
    try directory.write("precious", to: "precious")
    let pages = ["a", "b/x", "c"].map { Page(id: ExactString($0)) }
    let store = try PageStore.make(path)
    _ = try await OneWaySynchronizer(from: PageRemote(pages), to: store).sync()
    try directory.remove("inside/pages/a")
    try directory.link("inside/pages/a", to: directory("precious"))
    try directory.move("inside/pages/b", to: "elsewhere")
    try directory.link("inside/pages/b", to: directory("elsewhere"))
    let outcome = try await OneWaySynchronizer(from: PageRemote(pages), to: store).sync()
    #expect(Set(outcome.refusedKeys) == ["a", "b/x"])
    try await store.remove(["a", "b/x"])
    #expect(try await store.keys() == ["c"])
    #expect(try String(contentsOfFile: directory("precious"), encoding: .utf8) == "precious")
    #expect(FileManager.default.fileExists(atPath: directory("elsewhere/x")))
    #expect(
      try directory.files(below: "inside/pages").keys.map(\.string).sorted() == ["a", "b", "c"])
  }

  @Test func `a name that is taken at the last moment is not replaced`() async throws {
    try directory.makeDirectory("inside/pages")
    let path = path
    let store = try PageStore.make(path) { step in
      if case .rename(_, to: "a") = step {
        _ = FileManager.default.createFile(atPath: path + "/a", contents: Data("theirs".utf8))
      }
      return 0
    }
    #expect(await storeError { try await store.store([1], of: Page(id: "a")) }?.code == .foreign)
    try await store.store([2], of: Page(id: "b"))
    try await store.finish(nil)
    #expect(try directory.files(below: "inside/pages") == ["a": "theirs", "b": "\u{2}"])
    #expect(try await store.keys() == ["b"])
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
    try await store.storePreview([3], of: Item(id: "e\u{301}"))
    #expect(try store.preview(forKey: "e\u{301}") == [3])
  }
}
