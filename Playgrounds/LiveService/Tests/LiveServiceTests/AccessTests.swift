import HummingbirdCore
import Hummingbird
import HTTPTypes
import Foundation
import Foundation
import NIOHTTP1
import Swappable
import Testing

@testable import LiveService

@Suite(.timeLimit(.minutes(10))) struct AccessTests {
  @Test func `requests for lists need a token`() async throws {
    let options = Service.Options(authorize: Authorization.bearerTokens(["one", "two"]))
    try await serve(TestList().served, options: options) { address in
      for path in ["lists", "lists/numbers", "lists/numbers/events"] {
        for field in ["", "Bearer", "Bearer three", "Bearer one two", "Basic one", "bearer"] {
          let answer = try await send(address + path, headers: ["Authorization": field])
          #expect(answer.status == 401)
          #expect(answer.headers.first(name: "WWW-Authenticate") == "Bearer")
        }
        for token in ["one", "two"] {
          let answer = try await request(
            address + path, headers: ["Authorization": "Bearer \(token)"])
          #expect(answer.status == .ok)
        }
      }
      let swap = try await send(
        address + "lists/numbers/swap", method: "POST",
        headers: ["Content-Type": "application/json"],
        body: #"{"source":"updated"}"#)
      #expect(swap.status == 401)
      // The page has no contents, and a monitor has no token.
      #expect(try await send(address).status == 200)
      #expect(try await send(address + "health").status == 200)
    }
  }

  @Test func `a closure decides about each list`() async throws {
    let options = Service.Options(authorize: { request, context in
      context.parameters.get("name") == "numbers" || request.headers[.cookie] == "user=ada"
    })
    try await serve(TestList().served, TestList(name: "others").served, options: options) {
      address in
      #expect(try await send(address + "lists/numbers").status == 200)
      #expect(try await send(address + "lists/others").status == 401)
      let known = try await send(address + "lists/others", headers: ["Cookie": "user=ada"])
      #expect(known.status == 200)
    }
  }

  @Test func `tokens are read from a file`() throws {
    let path = NSTemporaryDirectory() + "tokens-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    #expect(throws: ServiceError.self) { try Authorization.bearerTokens(inFile: path) }
    try " \n\n".write(toFile: path, atomically: true, encoding: .utf8)
    #expect(throws: ServiceError.self) { try Authorization.bearerTokens(inFile: path) }
    try "secret\n".write(toFile: path, atomically: true, encoding: .utf8)
    _ = try Authorization.bearerTokens(inFile: path)
  }

  @Test func `a request for another host is refused`() async throws {
    let options = Service.Options(hostNames: ["lists.example.com"])
    try await serve(TestList().served, options: options) { address in
      let foreign = try await send(address, headers: ["Host": "attacker.example:8080"])
      #expect(foreign.status == 421)
      #expect(foreign.body.contains("--host-name attacker.example"))
      for host in ["lists.example.com", "Lists.Example.com:443", "127.0.0.1:8080", "[::1]:80"] {
        #expect(try await send(address, headers: ["Host": host]).status == 200)
      }
    }
  }

  @Test func `the page allows only its own script`() async throws {
    try await serve(TestList().served) { address in
      let first = try await send(address)
      let second = try await send(address)
      let policy = try #require(first.headers.first(name: "Content-Security-Policy"))
      let nonce = try #require(policy.firstMatch(of: /script-src 'nonce-([a-z0-9]+)'/)).1
      #expect(first.body.contains(#"<script nonce="\#(nonce)">"#))
      #expect(first.body.contains(#"<style nonce="\#(nonce)">"#))
      #expect(!first.body.contains("{nonce}"))
      #expect(!second.body.contains(nonce))
    }
  }

  @Test func `large headers are refused`() async throws {
    try await serve(TestList().served) { address in
      let token = String(repeating: "x", count: 10_000)
      let answer = try await send(
        address + "lists/numbers", headers: ["If-None-Match": token])
      #expect(answer.status == 400)
    }
  }
}
