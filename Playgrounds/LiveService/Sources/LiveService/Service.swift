import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore

/// The web service: its routes, its limits, and the server.
struct Service: Sendable {
  struct Options: Sendable {
    var address = "127.0.0.1"
    var port = 8080
    /// The number of event streams that can be open at the same time.
    var maxStreams = 500
    /// Names under which browsers reach the service, apart from the address and the names of this computer.
    var hostNames: [String] = []
    /// Decides about each request for a list. If it is `nil`, all requests are allowed.
    var authorize: Authorization.Decision?
    /// The longest time in which a client can leave data unread.
    var stallLimit: TimeAmount = .seconds(60)
    /// The time after SIGTERM in which requests can end. Then their connections are closed.
    var stopLimit: TimeAmount = .seconds(3)
  }

  let lists: ServedLists
  let options: Options

  /// Runs the service until the process receives SIGTERM or SIGINT.
  func run() async throws {
    let (address, port) = (options.address, options.port)
    do {
      try await application { channel in
        let port = channel.localAddress?.port ?? port
        let host = address.contains(":") ? "[\(address)]" : address
        print("The lists are at http://\(host):\(port)/")
        fflush(nil)
      }.runService()
    } catch let error as IOError where error.errnoCode == EADDRINUSE {
      throw ServiceError(
        "cannot listen on \(address), port \(port): it is in use; choose another port by --port")
    }
  }

  /// Returns the application, for the server and for tests.
  func application(
    onStart: @escaping @Sendable (any Channel) async -> Void = { _ in }
  ) -> some ApplicationProtocol {
    var logger = Logger(label: "LiveService")
    logger.logLevel = .notice
    if options.authorize == nil, !LocalHost.isLoopback(options.address) {
      logger.warning(
        """
        Everyone who reaches \(options.address) can read and swap the lists: use --bearer-token-file
        """)
    }
    return Application(
      router: router(),
      server: .http1(
        configuration: .init(
          additionalChannelHandlers: [ConnectionLimits(stopLimit: options.stopLimit)],
          idleTimeout: .seconds(60),
          httpDecoderConfiguration: .init(
            maxHeaderFieldSize: 8 * 1024, maxHeaderListSize: 16 * 1024, maxHeaderFieldCount: 100))),
      configuration: .init(
        address: .hostname(options.address, port: options.port),
        // Connections without an event stream are short.
        availableConnectionsDelegate: .maximum(options.maxStreams + 100, logger: logger)),
      onServerRunning: onStart, logger: logger)
  }

  private func router() -> Router<ServiceContext> {
    let router = Router(context: ServiceContext.self, options: .autoGenerateHeadEndpoints)
    router.add(middleware: HostCheck(names: options.hostNames + [options.address]))
    let page = PageTemplate()
    router.get("/") { _, _ in page.response() }
    router.get("/health") { _, _ in try health() }
    let group = router.group("/lists")
    if let authorize = options.authorize {
      group.add(middleware: Authorization(isAllowed: authorize))
    }
    ListRoutes(
      lists: lists, streams: StreamLimit(options.maxStreams), stallLimit: options.stallLimit
    ).add(to: group)
    return router
  }

  /// Reports the state of each list. A list whose source has failed still serves its last valid contents.
  private func health() throws -> Response {
    let states = lists.all.map { ($0.name, $0.stateName) }
    return .json(try JSONEncoder().encode(["lists": Dictionary(uniqueKeysWithValues: states)]))
  }
}

/// The context of a request, with its connection.
struct ServiceContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  let channel: any Channel

  init(source: ApplicationRequestContextSource) {
    coreContext = CoreRequestContextStorage(source: source)
    channel = source.channel
  }

  /// The encoder of error messages.
  var responseEncoder: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .withoutEscapingSlashes
    return encoder
  }
}

/// An error that ends the service.
struct ServiceError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

extension Response {
  /// Creates a response that is not cached from JSON.
  static func json(_ body: Data) -> Response {
    Response(
      status: .ok,
      headers: [.contentType: "application/json", .cacheControl: "no-store"],
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
  }
}
