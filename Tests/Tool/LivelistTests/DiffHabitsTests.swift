import TestTags
import Testing

/// The options of `diff` that the program of the same name has.
@Suite(.tags(.system)) struct DiffHabitsTests {
  private let place: Workplace
  private let old: String
  private let new: String

  init() throws {
    place = try Workplace()
    old = try place.json("old.json", #"[{"id":1,"n":"x"},{"id":2}]"#)
    new = try place.json("new.json", #"[{"id":1,"n":"y"},{"id":2}]"#)
  }

  @Test func `the exit status tells whether the sources differ`() throws {
    #expect(try Livelist.run("diff", "-k", "id", old, new).status == 0)
    for option in ["--exit-code", "--quiet", "-q"] {
      #expect(try Livelist.run("diff", option, old, old).status == 0)
      let different = try Livelist.run("diff", option, "-k", "id", old, new)
      #expect(different.status == 1)
      #expect(different.output.isEmpty == (option != "--exit-code"))
      for trouble in [[old, "json:none"], [old, new, "-k", "n"], [old]] {
        let result = try Livelist.run(["diff", option] + trouble)
        #expect(result.status == 2, "\(trouble)")
        #expect(!result.errors.isEmpty)
      }
    }
  }

  @Test func `the numbers of changes are printed alone`() throws {
    #expect(try Livelist.run("diff", "--stat", "-kid", old, new).output == "1 updated\n")
    #expect(try Livelist.run("diff", "--stat", "-kid", old, old).output == "")
  }

  @Test func `a summary tells in words what differs`() throws {
    let place = try Workplace()
    let old = try place.json(
      "old.json", #"[{"id":1,"n":1,"m":1},{"id":2,"n":1},{"id":3},{"id":4},{"id":5}]"#)
    let added = (10..<20).map { "{\"id\":\($0)}" }.joined(separator: ",")
    let new = try place.json(
      "new.json", #"[{"id":5},{"id":1,"n":2},{"id":2,"n":2},{"id":4},"# + added + "]")
    #expect(
      try Livelist.run("diff", "--summary", "-kid", old, new).output == """
        10 elements were inserted: 10, 11, 12, 13, 14, 15, 16, 17 and 2 others
        1 element was deleted: 3
        2 elements were updated: 1, 2
          n of 1, 2
          m of 1
        1 element was moved: 5

        """)
    #expect(try Livelist.run("diff", "--summary", "-kid", old, old).output == "")
  }

  @Test func `a member that could be the key is named`() throws {
    let hint = "livelist: every element has a member \"id\"; with --key id, "
    #expect(try Livelist.run("diff", old, new).errors.hasPrefix(hint))
    #expect(try Livelist.run("diff", "-q", old, new).errors.isEmpty)
    #expect(try Livelist.run("diff", old, old).errors.isEmpty)
    #expect(try Livelist.run("diff", "--key=id", old, new).errors.isEmpty)
    let other = try place.json("other.json", #"[{"id":1,"n":"y"},{"n":2}]"#)
    #expect(try Livelist.run("diff", old, other).errors.isEmpty)
  }

  @Test func `members and elements are selected before they are compared`() throws {
    #expect(try Livelist.run("diff", "-q", "-kid", "--fields", "id", old, new).status == 0)
    #expect(try Livelist.run("diff", "-q", "-kid", "--where", "id>1", old, new).status == 0)
    let reversed = try place.json("reversed.json", #"[{"id":2},{"id":1,"n":"x"}]"#)
    #expect(try Livelist.run("diff", "-q", "-kid", "--sort", "id", old, reversed).status == 0)
  }

  @Test func `a source without a line that can be read is trouble`() throws {
    try place.json("a.log", "started\nstopped\n")
    try place.json("b.log", "begun\n")
    for (option, status) in [("-q", 2), ("--exit-code", 2), ("--stat", 1), ("--format=text", 1)] {
      for (one, other) in [("a.log", "b.log"), ("old.json", "b.log"), ("a.log", "old.json")] {
        let result = try Livelist.run("diff", option, place(one), place(other))
        #expect(result.status == Int32(status))
        #expect(result.output == "")
        #expect(result.errors.contains("all of its lines are skipped"), "\(result.errors)")
      }
    }
    // A last line without a line break is a line, too.
    try place.json("open.log", "started")
    #expect(try Livelist.run("diff", "-q", place("open.log"), place("open.log")).status == 2)
    // A file without a line is an empty list.
    try place.json("empty.log", "\n")
    #expect(try Livelist.run("diff", "-q", place("empty.log"), place("empty.log")).status == 0)
  }

  @Test func `an exit status that skipped lines make doubtful is trouble`() throws {
    try place.json("a.log", "{\"id\":1}\n{\"id\":\n")
    try place.json("b.log", "{\"id\":1}\n")
    for option in ["-q", "--exit-code"] {
      let result = try Livelist.run("diff", option, place("a.log"), place("b.log"))
      #expect(result.status == 2)
      let lines = result.errors.split(separator: "\n")
      #expect(lines.first?.contains("1 line of ") == true)
      #expect(lines.last?.contains("cannot tell whether the sources differ") == true)
      try place.json("open.log", "{\"id\":1}\n{\"id\":")
      #expect(try Livelist.run("diff", option, place("open.log"), place("b.log")).status == 2)
    }
    let difference = try Livelist.run("diff", place("a.log"), place("b.log"))
    #expect(difference.status == 0)
    #expect(difference.errors.contains("1 line of "))
    // Elements that no condition selects are elements, too.
    let none = try Livelist.run("diff", "--where", "id>5", place("a.log"), place("b.log"))
    #expect(none.status == 0)
  }

  @Test func `a wrong name of a field is reported with the fields of the elements`() throws {
    let result = try Livelist.run("diff", "-kid", "--fields", "zz", old, new)
    #expect(result.errors == "livelist: no element has the field \"zz\"; the fields are id, n\n")
    // A field of one list only is no mistake.
    let other = try place.json("other.json", #"[{"id":1,"m":"x"},{"id":2}]"#)
    #expect(try Livelist.run("diff", "-kid", "--fields", "m", other, new).errors == "")
    #expect(try Livelist.run("diff", "-kid", "--fields", "m", new, other).errors == "")
  }
}
