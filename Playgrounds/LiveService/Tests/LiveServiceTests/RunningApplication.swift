import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import ServiceLifecycle

/// Runs an application at a port that the system chooses, calls a closure with its address, and stops the application.
func run(
  _ application: some ApplicationProtocol,
  _ test: @escaping @Sendable (String) async throws -> Void
) async throws {
  let (ports, port) = AsyncStream.makeStream(of: Int.self)
  let group = ServiceGroup(
    services: [Started(base: application) { port.yield($0) }], logger: application.logger)
  try await withThrowingTaskGroup(of: Void.self) { tasks in
    tasks.addTask {
      defer { port.finish() }
      try await group.run()
    }
    // Without a port, the application has ended with an error.
    let result: Result<Void, any Error>
    do {
      for await port in ports {
        try await test("http://localhost:\(port)/")
        break
      }
      result = .success(())
    } catch {
      result = .failure(error)
    }
    await group.triggerGracefulShutdown()
    try await tasks.waitForAll()
    try result.get()
  }
}

/// An application at a port that the system chooses.
private struct Started<Base: ApplicationProtocol>: ApplicationProtocol {
  let base: Base
  let onStart: @Sendable (_ port: Int) -> Void

  var responder: Base.Responder { get async throws { try await base.responder } }
  var server: HTTPServerBuilder { base.server }
  var eventLoopGroup: any EventLoopGroup { base.eventLoopGroup }
  var configuration: ApplicationConfiguration {
    base.configuration.with(address: .hostname("127.0.0.1", port: 0))
  }
  var logger: Logger { base.logger }
  var services: [any ServiceLifecycle.Service] { base.services }
  var processesRunBeforeServerStart: [@Sendable () async throws -> Void] {
    base.processesRunBeforeServerStart
  }

  @Sendable func onServerRunning(_ channel: any Channel) async {
    onStart(channel.localAddress?.port ?? 0)
  }
}
