import FileSources
import Foundation
import HTTPSources
import SwappablePrimitives
import TestSupport
import TestTags
import Testing

@testable import livelist

/// Texts that could be addresses, but are none because of a typing error.
@Suite(.tags(.system), .timeLimit(.minutes(10))) struct AddressSecretTests {
  @Test(arguments: [
    ("https:us:s3cret@host/x", "https:…@host/x"), ("HTTP:s3cret@host", "HTTP:…@host"),
    ("http:host/x?token=s3cret", "http:host/x?…"), ("http:host/x#token=s3cret", "http:host/x#…"),
    ("http:host/x&token=s3cret", "http:host/x&…"), ("http:host/x?s3cret", "http:host/x?…"),
    (#"http:\\us:s3cret@host"#, #"http:\\…@host"#), (#"https:\us:s3cret@h\a"#, #"https:\…@h\a"#),
    (#"\\us:s3cret@host\a"#, #"\\…@host\a"#), ("http//us:s3cret@host/", "…@host/"),
    ("http:://us:s3cret@host/", "http:…@host/"), ("htp:us:s3cret@host/x", "…@host/x"),
    ("us:s3cret@host/x", "…@host/x"), ("s3cret@host/x", "…@host/x"), ("us:s3@cret@h", "…@h"),
    ("us:s3/cret@host", "…@host"), ("us:s3?cret@host/x.json", "…?…"), ("us:s3//cret@h", "…@h"),
    ("us:s3cret@host/x.json", "…@host/x.json"), ("us:s3#cret@h", "…#…"),
    ("us:s3cret%40host/x", "…%40host/x"), ("us%3As3cret%40host", "…%40host"),
    ("https://us:s3cret%40host/x", "https://…%40host/x"),
    ("us:s3cret@\u{301}host", "…@\u{301}host"),
    ("host.example/x?token=s3cret", "host.example/x?…"), ("host/x?a=1&token=s3cret", "host/x?…"),
    ("host/x&token=s3cret", "host/x&…"), ("host/x;id=s3cret", "host/x;…"),
    ("us:p=s3;cret@host", "…;…"),
    ("host/x?s3cret", "host/x?…"), ("host:80?\u{301}k=s3cret", "host:80?…"),
    ("h/x.db?token=s3cret", "h/x.db?…"), ("app:s3cret@db/shop?SELECT", "…@db/shop?…"),
    ("app:s3cret@db/shop?SELECT 1", "…@db/shop?…"),
    ("json:us:s3cret@h/x.json", "json:…@h/x.json"), ("sqlite:us:s3cret@h/d?a", "sqlite:…@h/d?a"),
    ("sqlite://us:s3cret@h/d.db", "sqlite://…@h/d.db"), ("jsonl:h/x?k=s3cret", "jsonl:h/x?…"),
    ("live:unix:us:s3cret@h#a", "live:unix:…@h#…"),
    ("postgres:host=h password=two s3cret", "postgres:host=h password=… …"),
    ("postgres:host=h password=two s3cret?SELECT 1", "postgres:host=h password=… …?SELECT 1"),
    ("postgres:us:s3cret@h/d", "postgres:…"), ("host=h password=two s3cret", "host=h password=… …"),
    ("us:s3cret@host password=two s3cret", "… password=… …"),
    ("postgres:///us:s3cret@h:1/d?SELECT 1", "postgres:///…@h:1/d?SELECT 1"),
    ("postgres:////us:s3cret@h/d", "postgres:///…@h/d"),
    ("postgres://h/us:s3cret@x", "postgres://h/…@x"),
    ("postgres:host=us:s3cret@h port=1", "postgres:host=…@h port=1"),
  ])
  func `a text that could be an address is shown without its secrets`(text: String, shown: String) {
    #expect(SourceSpecification.redacted(text) == shown)
    #expect(!SourceSpecification.redacted(command: ByteString("swpa a \(text)")).contains("s3cret"))
  }

  @Test(arguments: [
    "??.json", "a?b.jsonl", "conf.d/?.json", "dir/@scope/a.json", "./us:pw@host/a.json", "a@b.json",
    "/srv/a:b@c/x?.log", "../a:b@c.json", "shop.db?SELECT a FROM t WHERE b='x@y' AND c=1",
    "sqlite:a?SELECT '10:30', 'x@y' FROM t WHERE b=1 & 2", "shop.db#a:b@c?d=e", "live:unix:a@b#c",
    "json:a@b", "notes:today.json", "list.json", "host.example/list", "a:b",
    "a&b;c.json", "./a&b=c.json",
  ])
  func `paths, patterns and SQL are shown as they are`(text: String) {
    #expect(SourceSpecification.redacted(text) == text)
  }

  @Test func `the path of a file that exists is shown as it is`() throws {
    let place = try Workplace()
    try place.json("a:b@c.json", "[1]")
    let program = try TestSupport.Program.find("livelist")
    let commands =
      "cd '\(place.path)' && '\(program)' watch --until-eof 'a:b@c.json' </dev/null; "
      + "'\(program)' view 'd:e@f.json'"
    let result = try Livelist(["-c", commands], program: "/bin/sh")
    #expect(try result.restOfOutput().contains("[1]"))
    #expect(
      try result.restOfErrors()
        == "livelist: \"…@f.json\" is no file and no address; for a file that does not exist yet, use ./PATH\n"
    )
  }

  @Test(arguments: [
    "https:us:s3cret@host.invalid/x", "http:host.invalid/x?token=s3cret", #"http:\\us:s3cret@h"#,
    "us:s3cret@h/x", "us:s3cret@h/x.json", "us:s3cret@h/*.json", "us:s3cret@h/d.db", "s3cret@h/x",
    "h.example/x?token=s3cret", "h/x?t=s3cret", "h/x.db?t=s3cret", "h/x?t=s3cret.json",
    "h/x&t=s3cret", "h/x;t=s3cret.json",
    "app:s3cret@db/shop?SELECT", "json:us:s3cret@h/x",
    "jsonl:us:s3cret@h", "sqlite:us:s3cret@h/d.db#t", "live:unix:us:s3cret@h#a",
    "postgres:host=h password=two s3cret", "https:us:p=s3cret@h", "us:p=s3cret@h/x.json",
  ])
  func `no message shows a secret`(source: String) throws {
    let place = try Workplace()
    let file = try place.json("a.json", "[]")
    var results = [
      try Livelist.parse(source), try Livelist.parse("watch", source),
      try Livelist.parse("view", source),
      try Livelist.parse("diff", file, source), try Livelist.parse("triggers", "status", source),
      try Livelist.parse("triggers", source), try Livelist.parse("explain", file, source),
      try Livelist.parse("serve", "--listen=unix:\(place("s"))", source),
      try Livelist.parse("serve", "--listen=unix:\(place("s"))", "a=\(source)"),
      try Livelist.parse("watch", "--format", source, file),
      try Livelist.parse("watch", "--limit", source, file),
      try Livelist.parse("watch", "--\(source)"),
    ]
    #expect(results.allSatisfy { $0.status == 2 || source.hasPrefix("postgres:") })
    results.append(
      try Livelist.run("watch", "--until-eof", file, input: "swap \(source)\nswpa a \(source)\n"))
    for result in results {
      #expect(!result.errors.isEmpty && !result.errors.contains("s3cret"), "\(result.errors)")
      #expect(!result.output.contains("s3cret"))
    }
  }

  @Test(arguments: [
    "https:us:s3cret@host/x", "https:us:pa?s3cret@host", "us:s3cret@host", "http:h/x?a@s3cret",
    "http:h/x?t=s3cret",
  ])
  func `a transport to no address of a web service has no secret in its description`(
    text: String
  ) throws {
    let url = try #require(URL(string: text))
    #expect(!"\(HTTPTransport.http(url))".contains("s3cret"))
  }
}
