public import Foundation
public import RemoteSources

/// A connection to a list that a web service sends as Server-Sent Events.
///
///     let url = URL(string: "https://example.com/lists/packages/events")!
///     let packages = RemoteDataSource<Package>(.http(url, headers: ["Authorization": "Bearer \(key)"]))
///
/// The service sends the lines of a `Feed` as events of the type `message`. Events of other types are ignored. After an
/// interruption, the request has the header `Last-Event-ID` with the token of the last line.
///
/// The source connects again after each error and at the end of the stream, except after an answer with status 204,
/// with which a service asks its clients to stay away. If an answer has the header `Retry-After`, or a stream that the
/// server ends the field `retry`, the source waits at least that long.
public struct HTTPTransport: RemoteTransport {
  /// The address of the events, without a user name and a password.
  public let url: URL
  private let headers: @Sendable () async throws -> [String: String]

  /// Creates a connection with headers that are made anew for each request.
  ///
  ///     let transport = HTTPTransport(url) { ["Authorization": "Bearer \(try await newKey())"] }
  ///
  /// - Parameters:
  ///   - url: The address of the events, with the scheme `https` or `http`. A user name and a password in it are sent
  ///     as basic authorization. The server is asked for the address as it is. `URL(string:)` escapes a `%` again if the
  ///     same part of the text has a character that must be escaped.
  ///   - headers: A closure that is called before each request, for example to renew a key that has expired. An error
  ///     that it throws, or a control character in a header, is shown in the status of the source, which calls the
  ///     closure again after a pause. A header replaces one of the source that has the same name in any case.
  public init(_ url: URL, headers: @escaping @Sendable () async throws -> [String: String]) {
    guard var parts = URLComponents(url: url, resolvingAgainstBaseURL: true), let user = parts.user
    else {
      (self.url, self.headers) = (url.absoluteURL, headers)
      return
    }
    let credentials = Data("\(user):\(parts.password ?? "")".utf8).base64EncodedString()
    (parts.user, parts.password) = (nil, nil)
    self.url = parts.url ?? url.absoluteURL
    self.headers = {
      ["Authorization": "Basic \(credentials)"].replacing(with: try await headers())
    }
  }

  /// The address without the query and the fragment, which can contain secrets.
  public var description: String {
    let text = url.absoluteString
    // Because of a typing error, an address of no web service may have a password that is no part of its own.
    if !url.isWebAddress, text.contains("@") { return "\(url.scheme ?? ""):…" }
    return text.firstIndex { $0 == "?" || $0 == "#" }.map { "\(text[...$0])…" } ?? text
  }

  public func connect(since token: String?) async throws -> any AsyncSequence<[UInt8], any Error> {
    guard url.isWebAddress else {
      throw TransportError(
        "this is no address of a web service; use https://HOST/PATH", retry: .never)
    }
    var own = [
      "Accept": "text/event-stream", "Cache-Control": "no-cache", "User-Agent": "Swappable",
    ]
    // A proxy that compresses holds events back.
    own["Accept-Encoding"] = "identity"
    if let token, Self.isValid(token) { own["Last-Event-ID"] = token }
    let headers = try await headers()
    if let (name, _) = headers.first(where: { !Self.isValid($0 + $1) }) {
      throw TransportError(
        "the header \(name.withoutControlCharacters) contains a line break or another control character"
      )
    }
    return try await HTTPConnection.start(
      EventRequest(url: url, headers: own, privateHeaders: headers))
  }

  /// Returns a Boolean value that indicates whether a text can be in a header. A token of the server cannot add headers.
  private static func isValid(_ text: String) -> Bool {
    !text.utf8.contains { $0 < 0x20 || $0 == 0x7F }
  }
}

extension RemoteTransport where Self == HTTPTransport {
  /// Returns a connection to a list of a web service.
  ///
  /// A user name and a password in the address are sent as basic authorization. If the service redirects the request to
  /// another server, the headers and the password are not sent there. A redirection from `https` to `http` is an error.
  ///
  /// - Parameters:
  ///   - url: The address of the events, with the scheme `https` or `http`.
  ///   - headers: Headers that are added to each request, such as `Authorization`, without control characters. If they
  ///     change, pass an `HTTPTransport` with a closure.
  public static func http(_ url: URL, headers: [String: String] = [:]) -> HTTPTransport {
    HTTPTransport(url) { headers }
  }
}
