import Testing

/// The options of `diff` that the program of the same name has.
@Suite struct DiffHabitsTests {
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
}
