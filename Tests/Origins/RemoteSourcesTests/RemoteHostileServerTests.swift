import DataSourceTesting
import Diffing
import FileSources
import ObservableCollections
import ReactiveSignals
@testable import RemoteSources
import TestSupport
import TestTags
import Testing

/// Rules W2 and W4: servers whose lines do not fit, are malformed, or are odd.
@Suite(.tags(.system), .timeLimit(.minutes(10))) struct RemoteHostileServerTests {
  static let initial = #"{"event":"initial","revision":1,"token":"a","elements":[{"id":1,"n":0}]}"#

  static func change(
    _ since: String = "1", _ revision: String = "2", deletes: String = "[]", inserts: String = "[]",
    updates: String = "[]", moves: String = "[]"
  ) -> String {
    #"{"event":"change","since":\#(since),"revision":\#(revision),"token":"b","deletes":\#(deletes),"#
      + #""inserts":\#(inserts),"updates":\#(updates),"moves":\#(moves)}"#
  }

  @Test(arguments: ["0", "1"])
  func `a change that does not follow the answer of the server is not applied`(
    since: String
  ) async throws {
    let change = Self.change(since, inserts: #"[{"at":0,"element":{"id":2,"n":0}}]"#)
    let transport = ScriptedTransport([[Self.initial], [change], [change]])
    let recorder = SourceRecorder(RemoteDataSource<Item>(fast: transport))
    try await wait(for: "the fourth connection") { transport.tokens.value.count >= 4 }
    let record = recorder.record
    #expect(record.contents == [Item(1)])
    #expect(transport.tokens.value.prefix(4) == [nil, "a", nil, nil])
  }

  static let hostile: [String] = [
    "[]", "null", "1", #""x""#, "{}", #"{"event":null}"#, #"{"event":"initial"}"#,
    #"{"event":"initial","revision":-1,"elements":[]}"#,
    #"{"event":"initial","revision":1e400,"elements":[]}"#,
    #"{"event":"initial","revision":"1","elements":[]}"#,
    #"{"event":"initial","revision":\#(String(repeating: "9", count: 400)),"elements":[]}"#,
    #"{"event":"initial","revision":2,"elements":{}}"#,
    #"{"event":"initial","revision":2,"elements":[1]}"#,
    #"{"event":"initial","revision":2,"elements":[{"id":1}]}"#,
    #"{"event":"initial","revision":2,"token":5,"elements":[]}"#,
    #"{"event":"initial","revision":2,"key":5,"elements":[]}"#,
    #"{"event":"initial","revision":1,"token":"x","elements":[]}"#,
    #"{"event":"alive"}"#, #"{"event":"alive","revision":1}"#,
    #"{"event":"alive","revision":9,"token":"z"}"#, #"{"event":"alive","revision":-1,"token":"z"}"#,
    #"{"event":"alive","since":1,"revision":1,"token":"z"}"#,
    #"{"event":"status"}"#, #"{"event":"error"}"#, #"{"event":"error","message":7}"#,
    String(repeating: "[", count: 1_000_000), String(repeating: #"{"a":"#, count: 100_000),
    change("0"), change("1", "1"), change("1", "0"), change("-1"), change("1", "1e99"),
    change("1", "9223372036854775808"), change("null"), change(deletes: "{}"),
    change(deletes: "[1]"), change(deletes: "[{}]"),
    change(deletes: #"[{"at":1,"element":{"id":1,"n":0}}]"#),
    change(deletes: #"[{"at":9223372036854775807,"element":{"id":1,"n":0}}]"#),
    change(
      deletes: #"[{"at":0,"element":{"id":1,"n":0}},{"at":0,"element":{"id":1,"n":0}}]"#),
    change(inserts: #"[{"at":2,"element":{"id":2,"n":0}}]"#),
    change(inserts: #"[{"at":9223372036854775807,"element":{"id":2,"n":0}}]"#),
    change(inserts: #"[{"at":0,"element":{"id":2,"n":0}},{"at":0,"element":{"id":3,"n":0}}]"#),
    change(inserts: #"[{"at":1,"element":{"id":2,"n":0}},{"at":0,"element":{"id":3,"n":0}}]"#),
    change(inserts: #"[{"at":0}]"#), change(inserts: #"[{"at":0,"element":5}]"#),
    change(moves: #"[{"from":0,"to":1}]"#), change(moves: #"[{"from":1,"to":0}]"#),
    change(moves: #"[{"from":0,"to":0},{"from":0,"to":0}]"#),
    change(
      deletes: #"[{"at":0,"element":{"id":1,"n":0}}]"#, moves: #"[{"from":0,"to":0}]"#),
    change(
      deletes: #"[{"at":0,"element":{"id":1,"n":0}}]"#,
      updates: #"[{"from":0,"at":0,"old":{"id":1,"n":0},"element":{"id":1,"n":1}}]"#),
    change(
      inserts: #"[{"at":0,"element":{"id":2,"n":0}}]"#,
      updates: #"[{"from":0,"at":0,"old":{"id":1,"n":0},"element":{"id":1,"n":1}}]"#),
    change(updates: #"[{"from":0,"at":1,"old":{"id":1,"n":0},"element":{"id":1,"n":1}}]"#),
    change(updates: #"[{"from":-0.5,"at":0,"old":{"id":1,"n":0},"element":{"id":1,"n":1}}]"#),
  ]

  @Test func `a hostile line changes nothing`() async throws {
    for line in Self.hostile {
      let transport = ScriptedTransport([[Self.initial, line, Self.change()]], isKept: true)
      let recorder = SourceRecorder(RemoteDataSource<Item>(fast: transport))
      try await wait(for: "the second connection") { transport.tokens.value.count >= 2 }
      let record = recorder.record
      #expect(record.contents == [Item(1)], "\(line.prefix(200))")
      #expect(record.events.count <= 2, "\(line.prefix(200))")
      #expect(record.violations.isEmpty, "\(line.prefix(200))")
    }
  }

  @Test func `odd changes that fit are applied in normal form`() async throws {
    let odd = [
      // An update to equal contents, a deletion and an insertion of one identity, a move to its own place.
      Self.change(updates: #"[{"from":0,"at":0,"old":{"id":1,"n":0},"element":{"id":1,"n":0}}]"#),
      Self.change(
        deletes: #"[{"at":0,"element":{"id":1,"n":0}}]"#,
        inserts: #"[{"at":0,"element":{"id":1,"n":0}}]"#),
      Self.change(moves: #"[{"from":0,"to":0}]"#),
      Self.change(inserts: #"[{"at":0,"element":{"id":1,"n":0}}]"#),
      Self.change("1", "9223372036854775807"),
      Self.change(updates: #"[{"from":0,"at":0,"old":{"id":1,"n":0},"element":{"id":7,"n":0}}]"#),
    ]
    for line in odd {
      let next = #"{"event":"alive","revision":2,"token":"b"}"#
      let transport = ScriptedTransport([[Self.initial, line, next]], isKept: true)
      let recorder = SourceRecorder(RemoteDataSource<Item>(fast: transport))
      try await recorder.wait { $0.contents.count >= 1 }
      let remoteRevision = line.contains("9223372036854775807")
      if remoteRevision {
        // The sign of life has another revision.
        try await wait(for: "the second connection") { transport.tokens.value.count >= 2 }
      }
      #expect(recorder.record.violations.isEmpty, "\(line)")
    }
  }
}
