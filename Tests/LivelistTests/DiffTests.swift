import Testing

@Suite struct DiffTests {
  @Test func equalSourcesGiveNothing() throws {
    let place = try Workplace()
    let old = try place.json("old.json", #"[{"a":1,"b":"x"}]"#)
    let new = try place.json("new.json", #"[ {"b":"\u0078","a":1} ]"#)
    let result = try Livelist.run("diff", old, new)
    #expect(result.output.isEmpty)
    #expect(result.errors.isEmpty)
    #expect(result.status == 0)
  }

  @Test func whatDiffersIsOneChange() throws {
    let place = try Workplace()
    let old = try place.json("old.json", #"[{"id":1,"n":"x"},{"id":2}]"#)
    try place.sql(
      "a.db", "CREATE TABLE t (id, n)", "INSERT INTO t VALUES (3, NULL), (1, 'y')")
    let result = try Livelist.run(
      "diff", old, place.sqlite("a.db", "SELECT * FROM t"), "--key", "id")
    #expect(
      result.output
        == #"{"event":"change","since":0,"revision":1,"deletes":[{"at":1,"element":{"id":2}}],"#
        + #""inserts":[{"at":0,"element":{"id":3,"n":null}}],"updates":[{"from":0,"at":1,"#
        + #""old":{"id":1,"n":"x"},"element":{"id":1,"n":"y"}}],"moves":[]}"# + "\n")
    #expect(result.status == 0)
  }

  @Test func aKeyThatOccursTwiceIsWarnedOfOnce() throws {
    let place = try Workplace()
    let old = try place.json("old.json", "[1,1]")
    let new = try place.json("new.json", "[1,1,2,2]")
    let result = try Livelist.run("diff", old, new)
    #expect(result.errors.split(separator: "\n").count == 1)
    #expect(result.errors.contains("key 1 "))
    #expect(result.status == 0)
  }
}
