import Foundation
import HTTPTypes
import Hummingbird

/// Middleware that refuses requests for another host.
///
/// Otherwise, a foreign page whose name resolves to this computer could read the lists.
struct HostCheck: RouterMiddleware {
  private let names: Set<String>

  /// - Parameter names: The names of the host, apart from the names of this computer.
  init(names: [String]) {
    self.names = Set(names.map { $0.lowercased() })
  }

  func handle(
    _ request: Request, context: ServiceContext,
    next: (Request, ServiceContext) async throws -> Response
  ) async throws -> Response {
    let name = LocalHost.name(in: request.head.authority ?? "")
    guard LocalHost.isLoopback(name) || names.contains(name) else {
      throw HTTPError(
        .misdirectedRequest,
        message: "the host \"\(name)\" is not served; start the service with --host-name \(name)")
    }
    return try await next(request, context)
  }
}

/// Middleware that refuses requests from pages of other origins.
///
/// A browser sends `Origin` with each POST, and a form cannot send JSON.
struct CrossOriginCheck: RouterMiddleware {
  func handle(
    _ request: Request, context: ServiceContext,
    next: (Request, ServiceContext) async throws -> Response
  ) async throws -> Response {
    if let origin = request.headers[.origin] {
      let host = URLComponents(string: origin).flatMap { components in
        components.host.map { host in host + (components.port.map { ":\($0)" } ?? "") }
      }
      guard let host, host.lowercased() == request.head.authority?.lowercased() else {
        throw HTTPError(
          .forbidden, message: "the origin \(origin) is not the origin of this service")
      }
    }
    let type = request.headers[.contentType]?.split(separator: ";").first
    guard type?.lowercased() == "application/json" else {
      throw HTTPError(.unsupportedMediaType, message: "the content type must be application/json")
    }
    return try await next(request, context)
  }
}

/// The names of this computer for itself.
enum LocalHost {
  static func isLoopback(_ name: String) -> Bool {
    ["localhost", "127.0.0.1", "::1", "[::1]"].contains(name)
  }

  /// Returns the name in an authority, without its port, in lower case.
  static func name(in authority: String) -> String {
    let end = authority.lastIndex(of: ":") ?? authority.endIndex
    // The colons of an IPv6 address are between brackets.
    let isPort = authority[end...].dropFirst().allSatisfy(\.isNumber)
    return authority[..<(isPort ? end : authority.endIndex)].lowercased()
  }
}
