import TestSupport
import TestTags
import Testing

/// The marks of rows in a view.
@Suite(.tags(.system), .timeLimit(.minutes(10))) struct ViewMarksTests {
  private let place: Workplace

  init() throws { place = try Workplace() }

  private func list(_ rows: String..., name: String = "list.json") throws -> String {
    let elements = rows.enumerated().map { #"{"id":\#($0 + 1),"name":"\#($1)"}"# }
    return try place.json(name, "[" + elements.joined(separator: ",") + "]")
  }

  @Test func `Space marks the selected row, and removes the mark`() throws {
    let view = try LiveView(["--key", "id", list("a", "b", "c")])
    try view.type("j j", until: "1 marked")
    try view.expectLines("   id  name", "    1  a", "  * 2  b", ">   3  c")
    try view.type(" ", until: "2 marked")
    try view.expectLines("   id  name", "    1  a", "  * 2  b", "> * 3  c")
    try view.type(" k ")
    try view.expectLines("  id  name", "   1  a", ">  2  b", "   3  c")
    #expect(!view.bottom.contains("marked"))
    try view.quit()
  }

  @Test func `marks follow their rows through edits, orders, filters and swaps`() throws {
    let source = try list("a", "b", "c")
    let view = try LiveView(["--key", "id", source])
    try view.type("j ", until: "1 marked")
    try place.json("list.json", #"[{"id":9,"name":"z"},{"id":2,"name":"new"},{"id":1,"name":"a"}]"#)
    try view.expect("* 2  new")
    try view.type(":sort name desc\r")
    try view.expectLines("   id  name ▼", "    9  z", "> * 2  new", "    1  a")
    try view.type("fz\r", until: "1 marked (1 filtered out)")
    try view.expectLines("   id  name ▼", ">   9  z", "")
    try view.type(":filter\r")
    try view.expectLines("   id  name ▼", "    9  z", "> * 2  new", "    1  a")
    let other = try place.json("other.json", #"[{"id":7,"name":"x"}]"#)
    try view.type(":swap \(other)\r", until: "1 marked (1 gone)")
    try view.expectLines("   id  name ▼", ">   7  x", "")
    try view.type(" ", until: "2 marked (1 gone)")
    try place.json("other.json", #"[{"id":7,"name":"x"},{"id":2,"name":"back"}]"#)
    try view.expect("* 2  back")
    try view.expect("2 marked  name")
    try view.quit()
  }

  @Test func `v inverts the shown rows, and u removes all marks`() throws {
    let view = try LiveView(["--key", "id", list("ape", "bee", "cat", "ant")])
    try view.type(" fa\r", until: "/3")
    try view.type("v", until: "2 marked")
    try view.type(":filter\r")
    try view.expectLines("   id  name", ">   1  ape", "    2  bee", "  * 3  cat", "  * 4  ant")
    try view.type(":sort name\r", until: "name ▲")
    try view.type("u")
    try view.expectLines("  id  name ▲", "   4  ant")
    // Without marks, the same key removes the order.
    try view.type("u")
    try view.expectLines("  id  name", ">  1  ape")
    try view.quit()
  }

  @Test func `u also removes the marks of rows that are gone`() throws {
    let view = try LiveView(["--key", "id", list("a", "b")])
    try view.type(" ", until: "1 marked")
    try place.json("list.json", #"[{"id":2,"name":"b"}]"#)
    try view.expect("1 marked (1 gone)")
    try view.type("u")
    _ = try list("a", "b")
    try view.expectLines("  id  name", ">  1  a", "   2  b")
    try view.quit()
  }

  @Test func `the header of a group has no mark`() throws {
    let source = try list("a", "b", "a")
    let view = try LiveView(["--key", "id", "--group-by", "name", source])
    try view.type("g ", until: "header of a group")
    try view.type("j ", until: "1 marked")
    try view.expectLines("   id  name", "   a (2)", "> * 1  a", "    3  a", "   b (1)")
    try view.quit()
  }
}
