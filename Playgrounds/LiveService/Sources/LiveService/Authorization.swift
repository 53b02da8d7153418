import Foundation
import HTTPTypes
import Hummingbird

/// Middleware that asks a closure about each request for a list.
///
/// A stream of events is checked when it begins, and each time a page connects again.
struct Authorization: RouterMiddleware {
  /// Returns a Boolean value that indicates whether a request is allowed.
  ///
  /// The name of the list is `context.parameters.get("name")`.
  typealias Decision = @Sendable (Request, ServiceContext) async throws -> Bool

  let isAllowed: Decision

  func handle(
    _ request: Request, context: ServiceContext,
    next: (Request, ServiceContext) async throws -> Response
  ) async throws -> Response {
    guard try await isAllowed(request, context) else {
      throw HTTPError(
        .unauthorized, headers: [.wwwAuthenticate: "Bearer"],
        message: "the request needs a valid token: Authorization: Bearer TOKEN")
    }
    return try await next(request, context)
  }

  /// Returns a decision that allows requests with one of the tokens in a file.
  ///
  /// - Parameter path: The path of a file with one token on each line.
  /// - Throws: An error if the file cannot be read or has no token.
  static func bearerTokens(inFile path: String) throws -> Decision {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
      throw ServiceError("cannot read the tokens in \(path)")
    }
    let tokens = text.split(whereSeparator: \.isWhitespace).map(String.init)
    guard !tokens.isEmpty else { throw ServiceError("\(path) contains no token") }
    return bearerTokens(tokens)
  }

  /// Returns a decision that allows requests with one of some tokens.
  static func bearerTokens(_ tokens: [String]) -> Decision {
    { request, _ in
      guard let field = request.headers[.authorization], field.hasPrefix("Bearer ") else {
        return false
      }
      let presented = field.dropFirst("Bearer ".count)
      // Compare with all tokens, and all bytes: the time says nothing about the tokens.
      return tokens.map { areEqual($0.utf8, presented.utf8) }.contains(true)
    }
  }

  private static func areEqual(_ left: String.UTF8View, _ right: Substring.UTF8View) -> Bool {
    guard left.count == right.count else { return false }
    return zip(left, right).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
