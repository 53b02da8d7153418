import Foundation
public import ObservableCollections
package import SwappablePrimitives

/// A server of feeds for other processes of the same user, on a Unix domain socket.
///
///     let server = try FeedServer(path: "/run/user/1000/lists.sock", feeds: ["packages": feed])
///
/// A client connects and sends one line, `{"list":"packages"}`, or `{"list":"packages","since":"TOKEN"}` to
/// resume. The server answers with the lines of the feed. An error is one line, `{"event":"error","message":"…"}`, and the
/// connection is closed.
///
/// The file of the socket can be used by this user only (mode 0600), and the user at the other end is checked. Use
/// `ssh -L` to reach it from another machine.
///
/// One thread serves all connections. An idle connection takes less than 1 KB of memory. A client that reads slowly
/// receives fewer and larger changes. It delays no other one, unless ``Limits/pendingBytes`` is reached.
public final class FeedServer: Sendable {
  /// The limits that protect a server from its clients. All must be above 0.
  public struct Limits: Sendable, Hashable {
    /// The maximum number of connections. Further clients receive an error.
    public var connections = 4096
    /// The maximum number of bytes of a request.
    public var requestSize = 4096
    /// The time in which a client must send its request.
    public var requestTime = Duration.seconds(10)
    /// The time after which a client that reads nothing of a line is disconnected.
    public var stallTime = Duration.seconds(60)
    /// The maximum number of bytes in lines that clients have begun to read.
    ///
    /// A line that several clients read counts once. Further clients wait, except for short lines. While they wait,
    /// clients that read nothing for a tenth of ``stallTime`` are disconnected.
    public var pendingBytes = 64 << 20
    /// The longest time between two lines.
    public var aliveInterval = Duration.seconds(15)

    /// Creates the default limits.
    public init() {}

    fileprivate func check() {
      for (name, value) in Mirror(reflecting: self).children {
        let isValid = (value as? Int).map { $0 > 0 } ?? (value as? Duration).map { $0 > .zero }
        precondition(isValid == true, "limits.\(name ?? "") must be above 0, but is \(value)")
      }
    }
  }

  /// The absolute path of the socket. A byte that is not UTF-8 is shown as `\x` and two hexadecimal digits.
  public let path: String
  private let loop: ServerLoop

  /// Creates a server and starts it.
  ///
  /// - Parameters:
  ///   - path: The path of the socket. If a process that no longer runs has left a socket there, it is replaced.
  ///   - feeds: The feeds by their names.
  ///   - limits: The limits for clients, all above 0.
  /// - Throws: An error if the socket cannot be created.
  public convenience init(
    path: String, feeds: [String: Feed], limits: Limits = Limits()
  ) throws(SourceError) {
    let feeds = feeds.map { (ByteString($0), $1) }
    try self.init(
      path: ByteString(path), feeds: Dictionary(uniqueKeysWithValues: feeds), limits: limits)
  }

  /// Creates a server and starts it. The path need not be UTF-8, and names are compared as bytes.
  package init(
    path: ByteString, feeds: [ByteString: Feed], limits: Limits = Limits()
  ) throws(SourceError) {
    limits.check()
    self.path = path.absolutePath.description
    do throws(SocketError) {
      loop = try ServerLoop(path: path, feeds: feeds, limits: limits)
    } catch {
      throw SourceError(code: "socket", message: "\(error)", underlying: error)
    }
    // The thread keeps the loop, not the server. Therefore, releasing the server stops the thread.
    Thread.detachNewThread { [loop] in loop.run() }
  }

  deinit { stop() }

  /// The number of open connections.
  public var connectionCount: Int { loop.connectionCount }

  /// Closes all connections, removes the socket, and waits until this is done.
  ///
  /// In code that the thread of the server calls, such as the clock of a feed, this method does not wait.
  public func stop() { loop.stop() }
}
