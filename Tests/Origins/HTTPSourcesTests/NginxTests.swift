import DataSourceTesting
import Foundation
import ObservableCollections
import SwappableSources
import TestSupport
import TestTags
import Testing

@testable import HTTPSources
@testable import RemoteSources

/// Lists behind nginx.
@Suite(
  .tags(.system), .timeLimit(.minutes(5)),
  .enabled(if: NginxServer.isAvailable, "\(NginxServer.advice)"))
struct NginxTests {
  @Test(arguments: ["proxy_buffering off;", "proxy_buffering off; gzip on; gzip_types *;"])
  func `without buffering, a list is followed through nginx`(settings: String) async throws {
    let source = ArrayDataSource([Item(1), Item(2)])
    let feed = Feed(source, key: "id")
    let server = try TestWebServer(["list": { feed }])
    let nginx = try await NginxServer(for: server, settings)
    let recorder = SourceRecorder(RemoteDataSource<Item>(fast: .http(nginx.url())))
    let first = try await recorder.wait(for: [Item(1), Item(2)])
    for n in 1...20 {
      source.update(at: 0) { $0.n = n }
      try await recorder.wait(for: [Item(1, n), Item(2)])
    }
    // While the service is away, nginx answers with a page.
    server.stop()
    let away = try await recorder.wait {
      $0.statuses.last?.error?.message.hasSuffix("the server answered with status 502 and a page")
        == true
    }
    #expect(away.contents == [Item(1, 20), Item(2)])
    source.append(Item(3))
    try server.start()
    let record = try await recorder.wait(for: [Item(1, 20), Item(2), Item(3)])
    #expect(record.events.count == first.events.count + 21)
    #expect(record.violations.isEmpty)
  }

  @Test func `the header of a service switches buffering off`() async throws {
    let source = ArrayDataSource([Item(1)])
    let feed = Feed(source, key: "id")
    let server = try TestWebServer { request, connection in
      connection.send(TestWebServer.eventHead.dropLast(2) + "X-Accel-Buffering: no\r\n\r\n")
      await connection.send(
        feed, since: request.headers["last-event-id"], aliveEvery: .milliseconds(20))
    }
    let nginx = try await NginxServer(for: server, "proxy_buffering on;")
    let recorder = SourceRecorder(RemoteDataSource<Item>(fast: .http(nginx.url())))
    try await recorder.wait(for: [Item(1)])
    source.append(Item(2))
    try await recorder.wait(for: [Item(1), Item(2)])
  }

  @Test func `a proxy that buffers is noticed by its silence`() async throws {
    let clock = ManualClock()
    let source = ArrayDataSource([Item(1)])
    let feed = Feed(source, key: "id")
    // Signs of life would fill the buffers of nginx.
    let server = try TestWebServer(["list": { feed }], aliveEvery: .seconds(3_600))
    let nginx = try await NginxServer(for: server, "proxy_buffering on;")
    let recorder = SourceRecorder(RemoteDataSource<Item>(.http(nginx.url()), clock: clock))
    try await wait(for: "the request") { server.requests.value.count == 1 }
    try await wait(for: "the timer of a silent connection") {
      clock.nextDeadline == clock.now.advanced(by: .seconds(45))
    }
    clock.advanceToNextDeadline()
    let record = try await recorder.wait { $0.statuses.last?.error != nil }
    #expect(
      record.statuses.last?.error?.message
        == "\(nginx.url()): the server has sent nothing for 45.0 seconds")
    #expect(record.contents.isEmpty)
  }

  @Test func `a certificate that the system does not trust is refused`() async throws {
    let feed = Feed(ArrayDataSource([Item(1)]))
    let server = try TestWebServer(["list": { feed }])
    let nginx = try await NginxServer(for: server, "proxy_buffering off;", usesTLS: true)
    let remote = RemoteDataSource<Item>(fast: .http(nginx.url(scheme: "https")))
    let record = try await SourceRecorder(remote).wait { $0.statuses.last?.error != nil }
    #expect(record.statuses.last?.error?.message.contains("certificate") == true)
    #expect(server.requests.value.isEmpty)
  }
}
