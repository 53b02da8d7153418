import Foundation
import ObservableCollections
import TestSupport
import Testing

@testable import PostgresSources

/// Programs on machines without libpq or without a server.
struct ClientLibraryTests {
  private var options: PostgresOptions {
    var options = PostgresOptions()
    options.libraryNames = ["libpq-that-is-not-there.so.5"]
    return options
  }

  @Test func `without libpq, the error names the package to install`() async throws {
    let connection = try PostgresConnection("host=/nowhere", options: options)
    let error = await #expect(throws: PostgresError.self) {
      try await connection.execute("SELECT 1")
    }
    #expect(error?.code == .noClientLibrary)
    #expect(error?.message.contains("libpq-that-is-not-there.so.5") == true)
    #if os(Linux)
      #expect(error?.help.contains("libpq5 (Debian, Ubuntu)") == true)
    #else
      #expect(error?.help.contains("brew install libpq") == true)
    #endif
  }

  @Test(.timeLimit(.minutes(10)))
  func `without libpq, the status of a source names the package to install`() async throws {
    let pool = try PostgresPool("host=/nowhere", options: options)
    let recorder = SourceRecorder(try makeSource(pool))
    let error = try await recorder.waitForFailure(.noClientLibrary)
    #expect(error.description.contains("install"))
    #expect(recorder.record.contents.isEmpty)
  }

  @Test(.timeLimit(.minutes(10)))
  func `a library that is something else is named`() async throws {
    var options = PostgresOptions()
    #if os(Linux)
      options.libraryNames = ["libm.so.6"]
    #else
      options.libraryNames = ["libSystem.B.dylib"]
    #endif
    let connection = try PostgresConnection("host=/nowhere", options: options)
    let error = await #expect(throws: PostgresError.self) {
      try await connection.execute("SELECT 1")
    }
    #expect(error?.code == .noClientLibrary)
    #expect(error?.description.contains("has no function PQconnectStartParams") == true)
  }

  @Test(.timeLimit(.minutes(10)))
  func `a library that cannot be loaded now is tried again`() async throws {
    let directory = try TemporaryDirectory()
    var options = PostgresOptions()
    options.libraryNames = [directory("libpq.so.5")]
    try Data("no library".utf8).write(to: URL(fileURLWithPath: options.libraryNames[0]))
    let connection = try PostgresConnection("host=/nowhere", options: options)
    let error = await #expect(throws: PostgresError.self) {
      try await connection.execute("SELECT 1")
    }
    #expect(error?.code == .cannotConnect)
    #expect(error?.message.hasPrefix("cannot load libpq: \(directory("libpq.so.5"))") == true)
  }

  @Test func `the advice for a skipped test names the package`() {
    #expect(PostgresServer.advice.contains("apt-get install postgresql"))
    #expect(!PostgresServer.isRequired || PostgresServer.isAvailable)
  }

  @Test(
    .enabled(if: (try? LibPQ.shared(LibPQ.names)) != nil), .timeLimit(.minutes(10)),
    arguments: 1...20)
  func `a process may exit while connections use TLS`(rounds: Int) async {
    await #expect(processExitsWith: .success) { [rounds] in
      let (listener, port) = try TestWebServer.makeSocket()
      #expect(listen(listener, 64) == 0)
      // Otherwise, libpq asks for Kerberos first, whose libraries also free their data when a process exits.
      let string = "host=127.0.0.1 port=\(port) user=u sslmode=require gssencmode=disable"
      for _ in 0..<8 {
        let connection = try PostgresConnection(string)
        Task {
          while true { _ = try? await connection.query("SELECT") { _ in 1 } }
        }
      }
      for _ in 0..<rounds {
        // The clients ask for TLS with eight bytes.
        let clients = (0..<8).map { _ in TestWebServer.Connection(accept(listener, nil, nil)) }
        for client in clients where !client.receive().isEmpty { client.send("S") }
      }
      exit(0)
    }
  }

  @Test func `a request to a connection that the server has closed does not end the process`() async
  {
    await #expect(processExitsWith: .success) {
      signal(SIGPIPE, SIG_DFL)
      for _ in 0..<3 { LibPQ.withoutPipeSignal { pthread_kill(pthread_self(), SIGPIPE) } }
    }
  }
}
