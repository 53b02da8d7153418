import Diffing
import FileSources
import Foundation
import ObservableCollections
import TestSupport
import Testing

/// Keys that are paths, and keys of several fields.
@Suite struct KeyFieldsTests {
  private let text =
    #"{"meta":{"uid":"u","n":1,"o":{}},"a.b":2,"c,d":3,"x":{"a.b":4},"meta.n":5,"quo\"te":6}"#

  private func identity(_ key: String) throws -> String {
    try JSONElement(parsing: text, key: key).differenceIdentifier.description
  }

  @Test(arguments: [
    ("meta.uid", #""u""#), (".meta.uid", #""u""#), ("a.b", "2"), (#""a.b""#, "2"),
    (#"."a.b""#, "2"),
    (#"x."a.b""#, "4"), ("c,d", "3"), ("meta.uid,a.b", #"missing"#),
    (#"meta.uid,"a.b""#, #"["u",2]"#),
    (#""c,d",meta.n"#, "[3,1]"), ("meta.n", "5"), (#""quo\"te""#, "6"),
    (#".meta.uid,.meta.n"#, #"["u",1]"#),
  ])
  func `a key is a name, a path, or several of them`(key: String, identity: String) throws {
    if identity == "missing" {
      #expect(throws: JSONElement.ParsingError.self) { try self.identity(key) }
    } else {
      #expect(try self.identity(key) == identity)
    }
  }

  @Test(arguments: [
    ("meta.x", "no member \"meta.x\", which is the key; its members are uid, n, o"),
    ("meta.o", "the key meta.o is an object"), ("meta.uid.x", "is a string and has no member"),
    ("y.z", "its members are meta, a.b"), ("a,", "no member \"a,\""), ("\"", "no member"),
    ("..", "no member"), ("", "no member"), (#""meta"#, "no member"),
    (#"meta."uid"x"#, "no member"),
  ])
  func `a key that is not there is an error`(key: String, message: String) throws {
    let error = try #require(throws: JSONElement.ParsingError.self) { try self.identity(key) }
    #expect("\(error)".contains(message))
  }

  @Test func `the identity stays if its fields are left out`() throws {
    for key in ["meta.uid", #"meta.uid,"c,d""#] {
      let element = try JSONElement(parsing: text, key: key)
      let part = element.keeping(members: ["a.b"])
      #expect(part.description == #"{"a.b":2}"#)
      #expect(part.differenceIdentifier == element.differenceIdentifier)
      #expect(part.differenceIdentifier.hashValue == element.differenceIdentifier.hashValue)
      #expect(part.keeping(members: []).differenceIdentifier == element.differenceIdentifier)
      #expect(part.changeLabel == element.changeLabel)
    }
  }

  @Test func `an element whose path is the key is updated`() async throws {
    let directory = try TemporaryDirectory()
    try directory.write(#"[{"m":{"id":1},"n":1},{"m":{"id":2},"n":1}]"#, to: "a.json")
    let log = try await SourceLog.afterLoading(
      JSONFileDataSource<JSONElement>(path: directory("a.json"), key: "m.id"))
    try directory.write(#"[{"m":{"id":2},"n":2},{"m":{"id":1},"n":1}]"#, to: "a.json")
    let changeset = try await log.nextChange().changeset
    #expect((changeset.updates.count, changeset.moves.count) == (1, 1))
    #expect((changeset.insertions.count, changeset.deletions.count) == (0, 0))
  }
}
