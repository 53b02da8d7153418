import Foundation
import Hummingbird
import RemoteSources
import ServiceLifecycle
import Swappable

struct Todo: Codable, Hashable, Identifiable, Sendable, Differentiable {
  let id: Int
  var title: String
}

/// Returns a server that sends the events of a feed.
func server(_ feed: Feed, port: Int) -> some ApplicationProtocol {
  let router = Router()
  router.get("todos/events") { request, _ in
    let lastEventID = request.headers.first { $0.name.canonicalName == "last-event-id" }?.value
    let body = ResponseBody { writer in
      // Without the call of `cancelOnGracefulShutdown()`, an open stream keeps the process running after SIGTERM.
      for await line in feed.lines(since: lastEventID).cancelOnGracefulShutdown() {
        try await writer.write(ByteBuffer(string: line.serverSentEvent))
      }
      try await writer.finish(nil)
    }
    let headers: HTTPFields = [.contentType: "text/event-stream", .cacheControl: "no-cache"]
    return Response(status: .ok, headers: headers, body: body)
  }
  let address = BindAddress.hostname("127.0.0.1", port: port)
  return Application(router: router, configuration: .init(address: address))
}

@main
struct Todos {
  static func main() async {
    let path = CommandLine.arguments.dropFirst().first ?? "todos.json"
    let todos = JSONFileDataSource<Todo>(path: path)
    do {
      try await todos.loaded()
      let feed = Feed(todos, key: "id", sendsStatusMessages: false)
      let server = server(feed, port: 8080)
      var configuration = ServiceGroupConfiguration(
        services: [server], gracefulShutdownSignals: [.sigterm, .sigint], logger: server.logger)
      // Otherwise, a client that does not read keeps the process running after SIGTERM.
      configuration.maximumGracefulShutdownDuration = .seconds(5)
      try await ServiceGroup(configuration: configuration).run()
    } catch {
      print("cannot run the service: \(error)")
      exit(1)
    }
  }
}
