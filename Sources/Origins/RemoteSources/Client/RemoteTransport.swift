import Dispatch
import Foundation
import ObservableCollections
package import SwappablePrimitives

/// A way to connect to a list on a server.
///
/// The module `HTTPSources` has a transport for HTTP. A transport for WebSocket is a type of yours:
///
///     struct WebSocketTransport: RemoteTransport {
///       let url: URL
///       var description: String { url.absoluteString }
///       func connect(since token: String?) async throws -> any AsyncSequence<[UInt8], any Error> { … }
///     }
public protocol RemoteTransport: Sendable, CustomStringConvertible {
  /// Connects to the list.
  ///
  /// The bytes are lines in the format of a ``Feed``, in parts of any size. The sequence ends if the connection
  /// ends. If the task is canceled, the connection must be closed.
  ///
  /// A part without bytes is a sign of life, too. After 45 seconds without any part, the source connects again.
  ///
  /// - Parameter token: The token to resume from, or `nil` to receive the contents.
  /// - Returns: The bytes that the server sends.
  /// - Throws: An error that is shown in the status of the source. So are the errors of the returned sequence. A
  ///   ``TransportError`` decides when the source connects again.
  func connect(since token: String?) async throws -> any AsyncSequence<[UInt8], any Error>
}

/// An error of a transport, which decides when the source connects again.
///
/// It is the underlying error of the status `failed` of a ``RemoteDataSource``:
///
///     let failure = packages.status.error?.underlying as? TransportError
///     if failure?.statusCode == 401 { askForPassword() }
public struct TransportError: Error, Hashable, CustomStringConvertible {
  /// The time at which a source connects again.
  public enum Retry: Hashable, Sendable {
    /// After the usual pause, which grows with each failure.
    case afterPause
    /// After a time that the server asks for, and then the usual pause.
    case after(Duration)
    /// Never, because the server asks clients not to connect again.
    case never
  }

  /// A sentence that says what happened.
  public internal(set) var description: String
  /// The status code of the server's answer, such as 404 of an HTTP server, or `nil` if there was no answer.
  public let statusCode: Int?
  /// The time at which the source connects again.
  public let retry: Retry
  /// A Boolean value that indicates whether the connection was never made.
  package internal(set) var isAtConnecting = false

  /// Creates an error.
  ///
  /// - Parameters:
  ///   - description: A sentence that says what happened. The source adds the description of the transport.
  ///   - statusCode: The status code of the server's answer, if there was an answer.
  ///   - retry: The time at which the source connects again.
  public init(_ description: String, statusCode: Int? = nil, retry: Retry = .afterPause) {
    (self.description, self.statusCode, self.retry) = (description, statusCode, retry)
  }
}

extension RemoteTransport where Self == UnixSocketTransport {
  /// Returns a connection to a list of a `FeedServer`.
  ///
  /// - Parameters:
  ///   - path: The path of the socket.
  ///   - list: The name of the list.
  public static func unixSocket(path: String, list: String) -> UnixSocketTransport {
    UnixSocketTransport(path: ByteString(path), list: list)
  }

  /// Returns a connection to a list of a `FeedServer`, whose path need not be UTF-8.
  package static func unixSocket(path: ByteString, list: String) -> UnixSocketTransport {
    UnixSocketTransport(path: path, list: list)
  }
}

/// A connection to a list of a `FeedServer` on this machine.
public struct UnixSocketTransport: RemoteTransport {
  private let address: ByteString
  /// The name of the list.
  public let list: String

  init(path: ByteString, list: String) {
    (address, self.list) = (path.absolutePath, list)
  }

  /// The absolute path of the socket. A byte that is not UTF-8 is shown as `\x` and two hexadecimal digits.
  public var path: String { address.description }

  /// The path of the socket and the name of the list.
  public var description: String { "live:unix:\(address)#\(list)" }

  public func connect(since token: String?) async throws -> any AsyncSequence<[UInt8], any Error> {
    let stream = try await openStream()
    try await stream.send(FeedRequest(list: list, token: token).bytes)
    return AsyncThrowingStream { try await stream.receive() }
  }

  private func openStream() async throws -> SocketStream {
    while true {
      do throws(SocketError) {
        let descriptor = try UnixSocket.makeConnection(to: address)
        let stream = SocketStream(descriptor)
        guard let reason = UnixSocket.refusal(of: "server", descriptor, by: "client") else {
          return stream
        }
        throw SocketError("cannot connect to \(address)", reason)
      } catch {
        // The server has not accepted the clients yet that came before.
        if error.code == EAGAIN {
          try await Task.sleep(for: .milliseconds(20))
          continue
        }
        // The description of the transport has the path.
        throw SourceError(
          code: "disconnected", message: "cannot connect: \(error.reason)", underlying: error)
      }
    }
  }
}

/// A connected socket, which one task at a time uses.
private final class SocketStream: Sendable {
  private let descriptor: Int32
  private let queue = DispatchQueue(label: "swappable.remote")

  init(_ descriptor: Int32) {
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  func send(_ bytes: [UInt8]) async throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { UnixSocket.sendNow($0, to: descriptor) }
      guard let count else { return }
      rest = rest.dropFirst(count)
      if count == 0 { try await waitUntilReady(toWrite: true) }
    }
  }

  /// Returns the next bytes, or `nil` at the end.
  func receive() async throws -> [UInt8]? {
    while true {
      var received = UnixSocket.Received.nothing
      let bytes = [UInt8](unsafeUninitializedCapacity: 1 << 16) { buffer, count in
        received = UnixSocket.receive(into: UnsafeMutableRawBufferPointer(buffer), from: descriptor)
        if case .bytes(let number) = received { count = number }
      }
      switch received {
      case .bytes: return bytes
      case .end: return nil
      case .failed(let code):
        throw SourceError(
          code: "disconnected", message: "the connection broke: \(String(cString: strerror(code)))"
        )
      case .nothing: try await waitUntilReady(toWrite: false)
      }
    }
  }

  /// Waits until the socket is ready. If the task is canceled, the socket is shut down, and is ready, too.
  private func waitUntilReady(toWrite isWriting: Bool) async throws {
    try Task.checkCancellation()
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let source: any DispatchSourceProtocol =
          isWriting
          ? DispatchSource.makeWriteSource(fileDescriptor: descriptor, queue: queue)
          : DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        source.setEventHandler { source.cancel() }
        // The descriptor may be closed only after the source has released it.
        source.setCancelHandler { continuation.resume() }
        source.activate()
      }
    } onCancel: {
      shutdown(descriptor, Int32(SHUT_RDWR))
    }
  }
}
