import Diffing
import Foundation
import ObservableCollections
import RemoteSources
import SwappablePrimitives
import SwappableSources
import TestSupport
import TestTags
import Testing

@testable import livelist

/// Lists of web services.
@Suite(.tags(.system), .timeLimit(.minutes(10))) struct WebServiceTests {
  private struct Item: Codable, Hashable, Sendable, Identifiable, Differentiable {
    let id: Int
    var n = 0
  }

  @Test func `watch shows the changes of a web service, also after it was away`() throws {
    let source = ArrayDataSource([Item(id: 1)])
    let feed = Feed(source, key: "id")
    let server = try TestWebServer(["list": { feed }])
    let watching = try Livelist("watch", "\(server.url())")
    #expect(
      try watching.line() == #"{"event":"initial","revision":0,"elements":[{"id":1,"n":0}]}"#)
    source.append(Item(id: 2))
    #expect(try watching.line().contains(#""inserts":[{"at":1,"element":{"id":2,"n":0}}]"#))
    server.stop()
    #expect(
      try watching.line().hasPrefix(
        #"{"event":"status","state":"failed","message":"\#(server.url()): "#))
    source.update(at: 0) { $0.n = 5 }
    try server.start()
    // The messages of the attempts meanwhile differ.
    var line = try watching.line()
    while line.hasPrefix(#"{"event":"status""#) { line = try watching.line() }
    #expect(line.contains(#""updates":[{"from":0,"at":0,"old":{"id":1,"n":0},"#))
  }

  @Test func `each command that takes a source reads a list of a web service`() throws {
    let place = try Workplace()
    let feed = Feed(ArrayDataSource([Item(id: 1)]), key: "id")
    let server = try TestWebServer(["list": { feed }])
    let url = "\(server.url())"
    let empty = try place.json("empty.json", "[]")
    let element = #"{"id":1,"n":0}"#
    #expect(try Livelist.run("view", "--format", "json", url).output == "[\n\(element)\n]\n")
    #expect(try Livelist.run("diff", "--key", "id", empty, url).output.contains(element))
    #expect(try Livelist.run("merge", "--key", "id", empty, url, empty).output.contains(element))
    #expect(try Livelist.run("apply", url).output == "[\n\(element)\n]\n")
    #expect(try Livelist.run("explain", url).output.contains("streamed: The server sends"))
    let serving = try Livelist("serve", "--listen", "unix:\(place("s"))", "a=\(url)")
    _ = try serving.errorLine()
    #expect(try Livelist("watch", "live:unix:\(place("s"))#a").line().contains(element))
    let watching = try Livelist("watch", "--key", "id", empty)
    _ = try watching.line()
    watching.send("swap \(url)\n")
    #expect(try watching.line().contains(element))
  }

  @Test func `headers are sent, and secrets are not shown`() throws {
    let place = try Workplace()
    let server = try TestWebServer { _, connection in
      connection.send("HTTP/1.1 401 Unauthorized\r\nContent-Length: 7\r\n\r\nsorry\r\n")
    }
    try "X-Key: 7\nAuthorization: Bearer a:b\n\n".write(
      toFile: place("headers"), atomically: true, encoding: .utf8)
    for (offset, command) in ["watch", "apply"].enumerated() {
      let result = try Livelist.run(
        command, "--header", "@\(place("headers"))", "--header=X-Other:x",
        "http://me:word@127.0.0.1:\(server.port)/list?key=secret")
      #expect(result.status == 1)
      #expect(
        result.errors
          == "livelist: http://127.0.0.1:\(server.port)/list?…: the server answered with status 401: "
          + "sorry; check the authorization\n")
      let requests = server.requests.value
      try #require(requests.count > offset)
      let request = requests[offset]
      #expect(request.target == "/list?key=secret")
      #expect(request.headers["x-key"] == "7")
      #expect(request.headers["x-other"] == "x")
      #expect(request.headers["authorization"] == "Bearer a:b")
    }
  }

  @Test(arguments: [
    ("Bearer s3cret", "has no colon"), (": s3cret", "has no valid name"),
    ("Bearer s3cret: a", "has no valid name"), ("Ä: s3cret", "has no valid name"),
    ("X-Key: s3cret\ta", "has a control character in the value of X-Key"),
    ("X-Key: s3cret\u{7F}", "has a control character in the value of X-Key"),
    ("X-Key: s3cret\ra", "has a control character in the value of X-Key"),
  ])
  func `a header that is not valid is an error without its text`(
    header: String, message: String
  ) throws {
    let place = try Workplace()
    try place.json("headers", "A: b\n\r\n\(header)\n")
    let results = [
      (try Livelist.parse("watch", "--header", header, "https://a"), "--header \(message)"),
      (
        try Livelist.parse("watch", "--header=@\(place("headers"))", "https://a"),
        "line 3 of the headers in \(place("headers")) \(message)"
      ),
    ]
    for (result, message) in results {
      #expect(result.status == 2)
      #expect(result.errors.hasPrefix("livelist: \(message)"), "\(result.errors)")
      #expect(!result.errors.contains("s3cret"), "\(result.errors)")
    }
  }

  @Test func `the last of the headers whose names differ by case is sent`() throws {
    let place = try Workplace()
    try place.json("headers", "\u{FEFF}x-key: 2\r\n A : b:c \n")
    let words = [
      "--header=X-Key:1", "--header", "@\(place("headers"))", "--header=B:", "--header=a:d",
    ]
    let arguments = try Arguments(words.map { ByteString($0) }[...], of: .apply)
    #expect(arguments.options.sources.headers == ["x-key": "2", "a": "d", "B": ""])
  }

  @Test func `the help says which services receive the headers, and names the proxies`() throws {
    let help = try Livelist.run("apply", "--help").output.split(whereSeparator: \.isWhitespace)
      .joined(separator: " ")
    #expect(help.contains("a header replaces an earlier one of the same name"))
    #expect(help.contains("One set of headers goes to every web address of the command"))
    #expect(help.contains("variables https_proxy and http_proxy"))
  }

  @Test(arguments: [
    ("HTTP://joe:s3cret@host/?t=s3cret", "HTTP://host/?…"), ("Https://host/a", "Https://host/a"),
    ("https://joe:pass/s3cret@host/", "https://…@host/"),
    ("http:///joe:s3cret@host", "http:///…@host"),
    ("ws://joe:s3cret@host/a?t=s3cret", "ws://…@host/a?…"), ("ws://joe:a?s3cret@host", "ws://…?…"),
    ("http:/joe:s3cret@host/", "http:/…@host/"), (" live:http://joe:s3cret@h", " live:http://…@h"),
    ("live:http://joe:s3cret@h", "live:http://…@h"), ("live://joe@h?t=s3cret", "live://…@h?…"),
    ("json:https://host/?t=s3cret", "json:https://host/?…"), ("a=ws://s3cret@h", "a=ws://…@h"),
    ("POSTGRES:host=h password=s3cret", "POSTGRES:host=h password=…"),
    ("/tmp/a:/b@c?d", "/tmp/a:/b@c?d"), ("sqlite:/a.db?SELECT '@'", "sqlite:/a.db?SELECT '@'"),
    ("a.db?SELECT 'http://a@b'", "a.db?SELECT 'http://a@b'"), ("json:/a?.json", "json:/a?.json"),
    ("live:unix:/tmp/a@b#c", "live:unix:/tmp/a@b#c"), ("a.db#t:/@", "a.db#t:/@"),
    ("http://h:80/users/@me", "http://h:80/users/@me"),
    ("host=h password=s3cret?SELECT 1", "host=h password=…?…"),
    ("postgress:host=h password=s3cret dbname=d", "postgress:host=h password=… dbname=d"),
    ("=postgres:password=s3cret host=h?SELECT 1", "=postgres:password=… host=h?…"),
    ("//app:s3cret@h/d?SELECT 1", "//…@h/d?…"), ("a=//app:s3cret@h/d", "a=//…@h/d"),
    ("postgress://app:s3cret@h/d?SELECT 1", "postgress://…@h/d?…"),
    ("//tmp/a:b@c.json", "//…@c.json"), ("/tmp//a:b.json", "/tmp//a:b.json"),
    ("json:/tmp/bypass=1/a.json", "json:/tmp/bypass=1/a.json"),
    ("/tmp/password=1 2/a.json", "/tmp/password=… 2/a.json"),
  ])
  func `the text of an address has no password and no query`(source: String, text: String) {
    #expect(SourceSpecification.redacted(source) == text)
  }

  @Test(arguments: [
    "HTTP://joe:s3cret@/?t=s3cret", "ws://joe:s3cret@h/a.json?t=s3cret", "http:/joe:s3cret@h/a.db",
    " live:http://joe:s3cret@h/?t=s3cret", "live:http://joe:s3cret@h/?t=s3cret",
    "live://joe:s3cret@h/?t=s3cret", "lines:http://joe:s3cret@h/?t=s3cret",
    "lines://joe:s3cret@h/?t=s3cret", "json:https://joe:s3cret@h/?t=s3cret",
    "POSTGRES:host=h password=s3cret?SELECT 1", "host=h password=s3cret?SELECT 1",
    "password=s3cret host=h?SELECT 1", "postgress:host=h password=s3cret?SELECT 1",
    "postgress://app:s3cret@h/d?SELECT 1", "=postgres:host=h password=s3cret?SELECT 1",
    "//app:s3cret@h/d?SELECT", "//app:s3cret@h/d?SELECT a FROM t WHERE b=1",
    "postgres:host=h password='my s3cret'", "sqlite:postgres:host=h password=s3cret",
    "lines:postgres:host=h password=s3cret", "live:postgres:host=h password=s3cret?SELECT 1",
  ])
  func `a mistake in an address is an error without its secrets`(source: String) throws {
    var results = [
      try Livelist.parse("watch", source), try Livelist.parse(source),
      try Livelist.parse("serve", "--listen", "unix:s", source),
      try Livelist.parse("serve", "--listen", "unix:s", "a=\(source)"),
    ]
    let file = try Workplace().json("a.json", "[]")
    results.append(
      try Livelist.run("watch", "--until-eof", file, input: "swap \(source)\nswpa \(source)\n"))
    for result in results {
      #expect(!result.errors.isEmpty && !result.errors.contains("s3cret"), "\(result.errors)")
    }
    #expect(results.dropLast().allSatisfy { $0.status == 2 })
  }

  @Test(arguments: [
    "host=h password=s3cret?SELECT * FROM a.log", "host=h password=s3cret dbname=a.db?SELECT 1",
    "sqlite:host=h password=s3cret?SELECT 1", "json:host=h password=s3cret",
  ])
  func `a server that is taken for a file does not show its password`(source: String) throws {
    for arguments in [["watch", "--until-eof"], ["explain"], ["view"]] {
      let result = try Livelist.run(arguments + [source])
      let text = result.output + result.errors
      #expect(text.contains("password=…") && !text.contains("s3cret"), "\(text)")
    }
  }

  @Test func `the scheme may be in capitals`() throws {
    let specification = try SourceSpecification("HTTPS://host/a")
    #expect(specification.kind == .web(try #require(URL(string: "HTTPS://host/a"))))
  }

  @Test(arguments: [
    (["watch", "https://"], 2, "is no address; use https://HOST/PATH"),
    (
      ["watch", "https://a b/c"], 2, "is no address; use https://HOST/PATH"
    ),
    (
      ["watch", "--header", "x", "https://a"], 2, "--header has no colon; use NAME:VALUE or @FILE"
    ),
    (["watch", "--header", "@", "https://a"], 2, "--header has no colon; use NAME:VALUE or @FILE"),
    (["watch", "--header", "@/none", "https://a"], 1, "cannot read the headers in /none"),
    (["watch", "http://127.0.0.1:1/x"], 1, "http://127.0.0.1:1/x: cannot connect to 127.0.0.1"),
  ])
  func `mistakes are reported`(arguments: [String], status: Int32, message: String) throws {
    let result = try Livelist.run(arguments)
    #expect(result.status == status)
    #expect(result.errors.contains(message), "\(result.errors)")
  }
}
