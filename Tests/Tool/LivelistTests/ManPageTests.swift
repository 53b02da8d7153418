import TestTags
import Testing

@testable import livelist

/// The man page that the installation makes.
@Suite(.tags(.system)) struct ManPageTests {
  private let page: String

  init() throws {
    let result = try Livelist.run("--man-page")
    #expect(result.status == 0)
    #expect(result.errors.isEmpty)
    page = result.output
  }

  @Test func `it has the version, and all commands, options and exit statuses`() throws {
    let version = try Livelist.run("--version").output.dropLast()
    #expect(page.hasPrefix(".TH LIVELIST 1 \"\" \"\(version)\""))
    for command in CommandName.allCases { #expect(page.contains("\n.SS \(command.rawValue)\n")) }
    let text = page.replacing("\\-", with: "-").replacing("\\[u2026]", with: "…")
    for term in Option.all.map(\.term) + ["json:PATH", "swap SOURCE", "uninstall"] {
      #expect(text.contains("\n.TP\n\\fB\(term)\\fR\n"), "\(term)")
    }
    for title in ["NAME", "SYNOPSIS", "COMMANDS", "SOURCES", "OPTIONS", "EXIT STATUS"] {
      #expect(page.contains("\n.SH \(title)\n"))
    }
  }

  @Test func `no text is taken for a command, or replaced with other characters`() {
    let macros = ["TH", "SH", "SS", "TP", "PP", "nf", "fi", "nh", "ad l"]
    for line in page.split(separator: "\n") where line.hasPrefix(".") {
      #expect(macros.contains { line.dropFirst().hasPrefix($0) }, "\(line)")
    }
    #expect(page.utf8.allSatisfy { $0 == 0x0A || 0x20..<0x7F ~= $0 })
    #expect(!page.contains("'"))
    #expect(page.contains(#"\(aqconf.d/*.json\(aq"#))
  }

  @Test(arguments: [
    ("groff", "-man -Tutf8 -ww -P-cbou"), ("mandoc", "-Tlint -Werror"),
  ])
  func `man accepts it, if it is installed`(program: String, options: String) throws {
    let shell = try Livelist(
      ["-c", "command -v \(program) >/dev/null || exit 0; exec \(program) \(options)"],
      program: "/bin/sh")
    shell.send(page)
    shell.endInput()
    let output = try shell.restOfOutput()
    #expect(try shell.restOfErrors() == "")
    #expect(try shell.waitForExit() == 0, "\(output)")
    #expect(program == "mandoc" || output.isEmpty || output.contains("'conf.d/*.json'"))
  }
}
