import FileSources
import Foundation
import ObservableCollections
import SwappablePrimitives
import TerminalViews
import TestSupport
import TestTags
import Testing

@testable import livelist

/// Tests of the details of a row.
@Suite(.tags(.system), .timeLimit(.minutes(10))) struct ViewDetailTests {
  private let place: Workplace

  init() throws { place = try Workplace() }

  // MARK: Lines

  private func detail(_ json: String) throws -> ViewDetail {
    let element = try JSONElement(parsing: json)
    let line = ViewLine.element(ViewElement(element))
    return ViewDetail(element, in: line.differenceIdentifier)
  }

  private func lines(_ json: String, columns: Int) throws -> [String] {
    var detail = try detail(json)
    return detail.lines(columns: columns).map(\.text)
  }

  @Test func `each member is a line with its full value`() throws {
    let json = #"{"id":5,"name":"caf\u00e9","none":null,"isNew":true,"empty":""}"#
    #expect(
      try lines(json, columns: 30) == [
        "  id     5", "  name   café", "  none   null", "  isNew  true", "  empty  ",
      ])
    #expect(try lines("17", columns: 30) == ["  value  17"])
    #expect(try lines("{}", columns: 30) == [])
  }

  @Test func `a nested value is indented JSON`() throws {
    let json = #"{"a":{"b":[1,{"c":"x,{\"}"}],"d":{},"e":[[]]}}"#
    #expect(
      try lines(json, columns: 40) == [
        "  a  {", "       \"b\": [", "         1,", "         {",
        #"           "c": "x,{\"}""#, "         }", "       ],", "       \"d\": {},",
        "       \"e\": [", "         []", "       ]", "     }",
      ])
  }

  @Test func `the lines of nested values are the same JSON`() throws {
    let values = [
      "[]", "{}", "[[],{}]", #"{"a\"]":[1,2,{"b":["\\",":"]}],"c":null}"#, "[1,[2,[3,[4]]]]",
      #"[{"a":[]},{"b":{}}]"#,
    ]
    for value in values {
      let element = try JSONElement(parsing: value)
      let text = ViewDetail.text(of: element).map(\.line).joined(separator: "\n")
      #expect(try JSONElement(parsing: text) == element, "\(text)")
    }
  }

  @Test func `long texts are wrapped and line breaks are visible`() throws {
    #expect(
      try lines(#"{"text":"one two three four"}"#, columns: 18) == [
        "  text  one two ", "        three four",
      ])
    #expect(
      try lines(#"{"t":"one\ntwo\r\n\tthree\u001b[2J\n"}"#, columns: 30) == [
        "  t  one␊", "     two␍␊", "     ␉three␛[2J␊",
      ])
    // A long name is on a line of its own.
    #expect(
      try lines(#"{"a very long name of a member":12,"b":1}"#, columns: 30) == [
        "  a very long name of a member", "              12", "  b           1",
      ])
  }

  @Test func `members that have changed are marked while the row is marked`() throws {
    var detail = try detail(#"{"a":1,"b":2}"#)
    func shown() -> [String] { detail.lines(columns: 20).map(\.text) }
    detail.follow(try JSONElement(parsing: #"{"a":1,"b":3,"c":4}"#), isMarked: true)
    #expect(detail.changed == ["b", "c"])
    #expect(shown() == ["  a  1", "~ b  3", "~ c  4"])
    detail.follow(try JSONElement(parsing: #"{"a":5,"b":3,"c":4}"#), isMarked: true)
    #expect(detail.changed == ["a", "b", "c"])
    detail.follow(detail.element, isMarked: false)
    #expect(shown() == ["  a  5", "  b  3", "  c  4"])
    detail.follow(nil, isMarked: false)
    #expect(detail.isGone && shown().count == 3)
  }

  // MARK: Pages

  @Test func `a text is scrolled within its lines`() {
    var pager = ViewPager()
    let lines = (0..<10).map { TerminalLine("\($0)") }
    func shown() -> String { pager.show(lines, height: 4).map(\.text).joined() }
    #expect(shown() == "0123")
    for (command, text) in [
      (ViewPager.Command.up, "0123"), (.down, "1234"), (.pageDown, "4567"), (.pageDown, "6789"),
      (.down, "6789"), (.pageUp, "3456"), (.end, "6789"), (.home, "0123"),
    ] {
      let isScrolled = pager.perform(command)
      #expect(isScrolled && shown() == text)
    }
    #expect(pager.part == "lines 1–4 of 10")
    let isScrolled = pager.perform(.left)
    #expect(!isScrolled)
    let (all, none) = (pager.show(lines, height: 12), pager.show([], height: 0))
    #expect(all.count == 12 && none.isEmpty)
    #expect(pager.part == nil)
  }

  // MARK: In a terminal

  @Test func `Enter shows the row and other rows follow`() throws {
    let rows = (0..<30).map { #"{"id":\#($0),"text":"long text of row \#($0)"}"# }
    let view = try LiveView([
      "--key", "id", place.json("list.json", "[\(rows.joined(separator: ","))]"),
    ])
    try view.type("jj\r")
    try view.expectLines("  id    2", "  text  long text of row 2", "")
    try view.expect("3/30")
    try view.type("n")
    try view.expectLines("  id    3")
    try view.type("pp")
    try view.expectLines("  id    1")
    try view.type("ppp", until: "this is the first row")
    try view.expectLines("  id    0")
    try view.type("nnnnn\u{1B}")
    try view.expect(">  5  long text of row 5")
    for key in ["\r", "q", "\u{1B}[D"] {
      try view.type("\r", until: "n: next")
      try view.type(key, until: ">  5  long text of row 5")
    }
    try view.quit()
  }

  @Test func `the details follow the element`() throws {
    func save(_ elements: String) throws -> String {
      try place.json("list.json", "[{\"id\":0},\(elements){\"id\":9}]")
    }
    let view = try LiveView(["--key", "id", save(#"{"id":1,"name":"old"},"#)])
    try view.type("j\r")
    try view.expectLines("  id    1", "  name  old")
    _ = try save(#"{"id":5},{"id":1,"name":"new"},"#)
    // The mark may have disappeared before the test reads it.
    try view.expectLines("  id    1", "  name  new")
    #expect(view.terminal.text.contains("~"))
    try view.expect("3/4")
    _ = try save("")
    try view.expect("1 was deleted")
    try view.expectLines("  id    1", "  name  new")
    _ = try save(#"{"id":1,"name":"back"},{"id":3},"#)
    try view.expectLines("  id    1", "  name  back")
    try view.expect("q: back")
    _ = try save(#"{"id":3},"#)
    try view.expect("1 was deleted")
    // The next element has taken its place.
    try view.type("n")
    try view.expectLines("  id  3", "")
    try view.type("q", until: ">  3")
    try view.quit()
  }

  @Test func `long details are scrolled`() throws {
    let members = (1...30).map { "\"m\($0)\":\($0)" }.joined(separator: ",")
    let view = try LiveView([place.json("list.json", "[{\(members)}]")])
    try view.type("\r", until: "lines 1–11 of 30")
    try view.type("jj")
    try view.expectLines("  m3   3")
    try view.type(" ")
    try view.expectLines("  m13  13")
    try view.type("G", until: "lines 20–30 of 30")
    try view.type("g\u{1B}[B")
    try view.expectLines("  m2   2")
    try view.type("q", until: "1/1")
    try view.quit()
  }

  @Test func `headers of groups have no details`() throws {
    let list = #"[{"id":1,"kind":"b"},{"id":2,"kind":"a"}]"#
    let view = try LiveView([
      "--key", "id", "--group-by", "kind", place.json("list.json", list),
    ])
    try view.type("\r", until: "this line is the header of a group")
    try view.type("j\r")
    try view.expectLines("  id    2", "  kind  a")
    try view.type("n")
    try view.expectLines("  id    1", "  kind  b")
    try view.type("n", until: "this is the last row")
    try view.type("q", until: "b (1)")
    try view.quit()
  }
}
