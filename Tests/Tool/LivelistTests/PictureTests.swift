import Foundation
import TestSupport
import TestTags
import Testing

/// The picture of a terminal in the documentation. To draw it again, set `SWAPPABLE_DRAW=1`.
@Suite(.tags(.system)) struct PictureTests {
  private static let file = #"""
    [{"id":1035,"customer":"Finn Olsen","item":"Desk lamp","count":2,"status":"packed"},
     {"id":1036,"customer":"Maya Rossi","item":"Bookshelf","count":1,"status":"packed"},
     {"id":1037,"customer":"Noor Haddad","item":"Office chair","count":4,"status":"new"},
     {"id":1040,"customer":"Luis Ortega","item":"Whiteboard","count":1,"status":"new"},
     {"id":1041,"customer":"Ada Blum","item":"Standing desk","count":1,"status":"new"}]
    """#

  private static let table = """
    CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT, item TEXT, count INT, status TEXT); \
    INSERT INTO orders VALUES (1035, 'Finn Olsen', 'Desk lamp', 3, 'packed'), \
    (1036, 'Maya Rossi', 'Bookshelf', 1, 'packed'), (1037, 'Noor Haddad', 'Office chair', 4, 'packed'), \
    (1041, 'Ada Blum', 'Standing desk', 1, 'new'), (1042, 'Kofi Mensah', 'Monitor', 2, 'new')
    """

  @Test func `the picture shows the screen before and after a swap`() throws {
    let place = try Workplace()
    try place.json("orders.json", Self.file)
    try place.sql("shop.db", Self.table)
    let terminal = try PseudoTerminal(rows: 10, columns: 56)
    let arguments = ["view", "-k", "id", "--group-by", "status", "orders.json"]
    // The last line shows the source as it was typed. It must not contain a temporary path.
    let program = try Program(
      "/bin/sh",
      ["-c", #"cd "$0" && exec "$@""#, place.path, try Program.find("livelist")] + arguments,
      environment: ["NO_COLOR": nil], terminal: terminal)
    func wait(forLastLine text: String) throws {
      try terminal.wait(until: "the last line is \"\(text)\"") { $0.display.lastLine == text }
    }
    try wait(forLastLine: "orders.json 1/5")
    try terminal.type("\u{1B}[B\u{1B}[B\u{1B}[B:swap shop.db#orders")
    try wait(forLastLine: ":swap shop.db#orders")
    let before = terminal.display
    let start = terminal.output.count
    try terminal.type("\r")
    try wait(forLastLine: "shop.db#orders 1/5")
    try terminal.type("q")
    #expect(try program.waitForEnd() == 0)
    // The marks expire, so the test looks for the screen with all marks in the output.
    var after = before
    for byte in terminal.output[start...] where !after.showsSwap { after.show([byte]) }
    #expect(after.showsSwap, "\(after.text)")

    var picture = TerminalPicture(
      title: "A list in a terminal, before and after its source is swapped", columns: 56)
    picture.append(before, caption: "$ livelist " + arguments.joined(separator: " "))
    picture.append(after, caption: "the same list, now from SQLite: + inserted, ~ updated")
    let path = try Guide.package()
      .appendingPathComponent("Sources/Swappable/Swappable.docc/Resources/terminal-list.svg")
    if TestRun.drawsPictures {
      try picture.svg.write(to: path, atomically: true, encoding: .utf8)
    }
    let isCurrent = try String(contentsOf: path, encoding: .utf8) == picture.svg
    #expect(isCurrent, "the screen has changed; draw the picture again with SWAPPABLE_DRAW=1")
  }
}

extension TerminalModel {
  /// The words of the last line.
  fileprivate var lastLine: String {
    lines[rows - 1].split(separator: " ").joined(separator: " ")
  }

  fileprivate var showsSwap: Bool {
    let marks = cells.filter { ["+", "~"].contains($0[1].text) }
    return marks.count == 5 && lastLine == "shop.db#orders 1/5"
  }
}
