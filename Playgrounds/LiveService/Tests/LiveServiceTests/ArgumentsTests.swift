import ArgumentParser
import Testing

@testable import LiveService

@Suite struct ArgumentsTests {
  @Test func `a list has a name and a source`() throws {
    let serve = try Serve.parse([
      "--list", "packages=json:a=b:c.json", "--source", "packages:updated=jsonl:b.jsonl",
      "--key", "packages:name",
    ])
    #expect(serve.list.map(\.name) == ["packages"])
    guard case .json("a=b:c.json") = serve.list[0].source else {
      Issue.record("\(serve.list[0].source)")
      return
    }
    #expect(serve.source.map(\.list) == ["packages"])
    #expect(serve.source.map(\.name) == ["updated"])
    guard case .jsonLines("b.jsonl") = serve.source[0].source else {
      Issue.record("\(serve.source[0].source)")
      return
    }
    #expect(serve.key[0].list == "packages")
    #expect(serve.key[0].member == "name")
    #expect(serve.network.address == "127.0.0.1")
  }

  @Test(arguments: [
    [], ["--list", "packages"], ["--list", "packages=file.json"], ["--list", "a/b=json:x"],
    ["--list", "=json:x"], ["--list", "packages=json:"], ["--list", "packages=sqlite:x"],
    ["--list", "a=json:x", "--source", "b:c=json:y"],
    ["--list", "a=json:x", "--source", "c=json:y"],
    ["--list", "a=json:x", "--key", "b:id"], ["--list", "a=json:x", "--key", ""],
    ["--list", "a=json:x", "--port", "70000"], ["--list", "a=json:x", "--max-streams", "0"],
  ])
  func `an argument that cannot be understood is refused`(arguments: [String]) {
    #expect(throws: (any Error).self) { try Serve.parse(arguments) }
  }

  @Test func `names are unique`() throws {
    let list = try TestList().served
    #expect(throws: (any Error).self) { try ServedLists([list, list]) }
    let source = SourceArgument(list: "a", name: "same", .json(path: "x"))
    #expect(throws: (any Error).self) {
      try ServedList(name: "a", key: nil, sources: [source, source])
    }
  }
}
