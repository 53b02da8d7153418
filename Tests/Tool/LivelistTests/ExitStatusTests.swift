import DataSourceTesting
import FileSources
import TestSupport
import TestTags
import Testing

@testable import livelist

/// Exit statuses that a script can trust.
@Suite(.tags(.system), .timeLimit(.minutes(10))) struct ExitStatusTests {
  private let place: Workplace

  init() throws { place = try Workplace() }

  // MARK: Failed sources

  private static let initial = #"{"event":"initial","revision":0,"elements":[{"id":1}]}"# + "\n"
  private static let failed = #"{"event":"status","state":"failed","message":"gone"}"# + "\n"
  private static let missing = #"{"event":"status","state":"missing","message":"gone"}"# + "\n"
  private static let loaded = #"{"event":"status","state":"loaded"}"# + "\n"

  private static let streams: [(events: String, status: Int32)] = [
    (initial + failed, 1), (initial + missing, 1), (initial + failed + loaded, 0),
    (initial + failed + initial, 0), (initial, 0),
    (initial + failed + initial.replacing("0", with: "1"), 1),
  ]

  @Test(arguments: streams)
  func `apply fails if the last status of the source was a failure`(
    events: String, status: Int32
  ) throws {
    let result = try Livelist.run("apply", input: events)
    #expect(result.output == "[\n{\"id\":1}\n]\n")
    #expect(result.status == status)
    let isReported = result.errors.contains("has failed, and its last contents are printed: gone")
    #expect(isReported == (status == 1))
  }

  @Test func `a watch that ends fails if its source has failed`() throws {
    let file = try place.json("a.json", "[1]")
    let watching = try Livelist("watch", "--until-eof", file)
    #expect(try watching.line().contains("[1]"))
    try place.json("a.json", "[1")
    #expect(try watching.line().contains(#""state":"failed""#))
    watching.endInput()
    #expect(try watching.waitForExit() == 1)
    #expect(try watching.restOfErrors().contains("a.json: line 1, column"))
  }

  // MARK: Misspelled fields

  private func list() throws -> String {
    try place.json(
      "list.json", #"[{"sku":1,"stock":3,"request":{"status":200,"a.b":1},"createdAt":5}]"#)
  }

  @Test(arguments: [
    ("--where", "stck<5", "stock"), ("--where", "Stock<5", "stock"), ("--sort", "stokc", "stock"),
    ("--fields", "sku,stocks", "stock"), ("--where", "request.stauts=200", "request.status"),
    ("--where", ".requst.status=200", "request.status"), ("--sort", "created_at", "createdAt"),
    ("--group-by", "stck", "stock"),
  ])
  func `a field like that of an element is an error`(
    option: String, value: String, meant: String
  ) throws {
    let file = try list()
    let other = try place.json("other.json", #"[{"sku":1,"stock":9}]"#)
    var runs = [(["view", "--format=text", file], 1)] as [([String], Int32)]
    if option != "--group-by" {
      runs += [
        (["diff", "-q", file, other], 2), (["diff", file, other], 2),
        (["watch", "--until-eof", file], 1), (["view", "--format=json", file], 1),
      ]
    }
    for (arguments, status) in runs {
      let result = try Livelist.run(arguments + [option, value])
      #expect(result.status == status, "\(arguments)")
      #expect(result.output == "")
      #expect(result.errors.contains("(did you mean \(meant)?)"), "\(result.errors)")
      #expect(result.errors.split(separator: "\n").count == 1)
    }
  }

  @Test(arguments: [
    "error=null", "deletedAt=null", "stck?<5", "error?!=null", "request.error=null", "value=5",
    "none.status=200", "stoppedAt=null", "req=1", "id=7",
  ])
  func `a field that few elements have is no error`(condition: String) throws {
    for command in ["view", "watch"] {
      let options =
        ["--format=json", "--where", condition] + (command == "watch" ? ["--until-eof"] : [])
      let result = try Livelist.run([command, list()] + options)
      #expect(result.status == 0, "\(result.errors)")
      #expect(!result.errors.contains("did you mean"))
      #expect(condition.contains("?") == result.errors.isEmpty, "\(result.errors)")
    }
    let empty = try place.json("empty.json", "[]")
    #expect(try Livelist.run("diff", "-q", "--where", condition, empty, empty).status == 0)
  }

  @Test func `a question mark permits that a field is missing, and is no part of its name`() throws
  {
    let file = try place.json(
      "a.json", #"[{"id":2,"o":{"n":1}},{"id":1,"n":5,"ok?":true,"o":{"q?":7}}]"#)
    func view(_ arguments: String...) throws -> String {
      let result = try Livelist.run(["view", "--format=json", file] + arguments)
      #expect(result.status == 0 && result.errors == "", "\(result.errors)")
      return result.output.split(separator: "\n").joined()
    }
    #expect(try view("--sort", "n?", "--fields", "n?,o.n?,x?") == #"[{"o.n":1},{"n":5}]"#)
    #expect(try view("--where", "n?=5", "--fields", "id") == #"[{"id":1}]"#)
    #expect(try view("--where", "ok?=true", "--fields", "ok?,o.q?") == #"[{"ok?":true,"o.q?":7}]"#)
    #expect(
      try Livelist.run("view", "--group-by", "x?", file).output.contains("(none) (2)"))
  }

  @Test(arguments: ["t", "empty"])
  func `a column that a query does not have is an error, also without rows`(table: String) throws {
    try place.sql(
      "a.db", "CREATE TABLE t (id INTEGER PRIMARY KEY, stock)",
      "CREATE TABLE empty (id INTEGER PRIMARY KEY, stock)", "INSERT INTO t VALUES (1, 3)")
    let table = "\(place("a.db"))#\(table)"
    let query = "\(place("a.db"))?SELECT * FROM \(table.split(separator: "#")[1]); "
    for (source, field) in [
      (table, "weight"), (query, "stck"), (query, "Stock"),
    ] {
      for (command, status) in [("diff", 2), ("view", 1), ("watch", 1)] as [(String, Int32)] {
        let sources = command == "diff" ? [source, source] : [source]
        let result = try Livelist.run([command, "--where", "\(field)<5"] + sources)
        #expect(result.status == status, "\(command) \(result.errors)")
        #expect(result.output == "")
        #expect(result.errors.contains("there is no column \"\(field)\""), "\(result.errors)")
        #expect(
          result.errors.contains("the columns are id, stock; if it may be missing, write \(field)?")
        )
      }
      let permitted = try Livelist.run("diff", "-q", "--sort", "\(field)?", source, source)
      #expect(permitted.status == 0, "\(permitted.errors)")
    }
    let list = try place.json("list.json", #"[{"id":1,"weight":3}]"#)
    #expect(try Livelist.run("view", "--sort", "weight", list, table).status == 0)
    #expect(try Livelist.run("view", "--sort", "height", list, table).status == 1)
  }

  @Test func `elements of a pipe that is not finished prove no misspelling`() throws {
    let watching = try Livelist("watch", "--where", "error=x", "jsonl:-")
    #expect(try watching.line().contains("[]"))
    watching.send("{\"errors\":3}\n")
    #expect(try watching.errorLine().contains("(did you mean errors?)"))
    watching.send("{\"error\":\"x\"}\n")
    #expect(try watching.line().contains(#""error":"x""#))
    watching.endInput()
    #expect(try watching.waitForExit() == 0)
  }

  @Test func `a watch of a pipe fails if its elements show that a field is misspelled`()
    throws
  {
    let watching = try Livelist("watch", "--where", "stck<5", "jsonl:-")
    #expect(try watching.line().contains("[]"))
    watching.send("{\"stock\":3}\n")
    #expect(try watching.errorLine().contains("(did you mean stock?)"))
    watching.endInput()
    #expect(try watching.waitForExit() == 1)
  }

  @Test func `names are alike if a typing error makes one of the other`() {
    let names = [
      "stock", "title", "createdAt", "startedAt", "id", "quantity_in_stock", "größe", "expires_at",
    ]
    for (typed, meant) in [
      ("stck", "stock"), ("STOCK", "stock"), ("titel", "title"), ("created_at", "createdAt"),
      ("quantity_in_stok", "quantity_in_stock"), ("gröse", "größe"), ("ID", "id"),
      ("expires_in", nil), ("created_by", nil),
      ("stoppedAt", nil), ("deletedAt", nil), ("error", nil), ("st", nil), ("ip", nil), ("", nil),
    ] as [(String, String?)] {
      #expect(NearestWord.name(like: typed, among: names) == meant, "\(typed)")
    }
  }
}
