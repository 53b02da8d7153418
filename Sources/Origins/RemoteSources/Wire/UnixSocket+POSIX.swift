#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif
package import SwappablePrimitives

/// An error of a socket: the operation that failed, and the reason.
package struct SocketError: Error, CustomStringConvertible {
  /// The operation and the path, for example `cannot connect to /run/lists.sock`.
  let operation: String
  /// The error code of the system, or 0.
  let code: Int32
  let reason: String

  init(_ operation: String, code: Int32 = 0, _ reason: String) {
    (self.operation, self.code, self.reason) = (operation, code, reason)
  }

  init(_ operation: String, code: Int32) {
    self.init(operation, code: code, Self.reason(code))
  }

  /// Returns the text for an error code of the system.
  package static func reason(_ code: Int32) -> String {
    let text = strerror(code).map { String(cString: $0) } ?? "error \(code)"
    return [EMFILE, ENFILE].contains(code)
      ? "\(text); raise their limit (ulimit -n), or use fewer sources" : text
  }

  package var description: String { "\(operation): \(reason)" }
}

/// The functions of Unix domain sockets. All descriptors are nonblocking, and closed in child processes.
package enum UnixSocket {
  /// A socket that accepts connections.
  package struct Listener: Sendable {
    package let descriptor: Int32
    let path: ByteString
    let identity: FileIdentity?

    /// Closes the socket, and removes its file if another socket has not replaced it.
    package func remove() {
      if let identity, UnixSocket.identity(of: path)?.identity == identity {
        UnixSocket.removeFile(at: path)
      }
      close(descriptor)
    }
  }

  /// Creates a socket that only this user can connect to.
  ///
  /// A socket that a process has left behind is replaced. A socket in use, or a file of another kind, is not.
  package static func makeListener(at path: ByteString) throws(SocketError) -> Listener {
    let operation = "cannot listen at \(path)"
    var address = try address(of: path, operation)
    let descriptor = try makeSocket(operation)
    // Another process that does the same waits.
    let folder = path.parentDirectory.withCString { open($0, O_RDONLY | O_CLOEXEC) }
    if folder >= 0 { flock(folder, LOCK_EX) }
    defer { if folder >= 0 { close(folder) } }
    do throws(SocketError) {
      try removeUnused(path, operation)
      guard withSocketAddress(&address, { bind(descriptor, $0, $1) }) == 0 else {
        throw SocketError(operation, code: errno)
      }
      // Nobody can connect before `listen`.
      guard path.withCString({ chmod($0, 0o600) }) == 0, listen(descriptor, 1024) == 0 else {
        let code = errno
        removeFile(at: path)
        throw SocketError(operation, code: code)
      }
    } catch {
      close(descriptor)
      throw error
    }
    return Listener(
      descriptor: descriptor, path: path, identity: identity(of: path)?.identity)
  }

  /// Connects to a socket.
  package static func makeConnection(to path: ByteString) throws(SocketError) -> Int32 {
    let operation = "cannot connect to \(path)"
    var address = try address(of: path, operation)
    let descriptor = try makeSocket(operation)
    guard withSocketAddress(&address, { connect(descriptor, $0, $1) }) == 0 else {
      let code = errno
      close(descriptor)
      // The system calls a full queue a resource that is temporarily unavailable.
      throw code == EAGAIN
        ? SocketError(
          operation, code: code,
          "too many clients wait until the server accepts them; try again, or restart the server")
        : SocketError(operation, code: code)
    }
    return descriptor
  }

  /// Accepts a connection.
  ///
  /// - Returns: The descriptor, or `nil` if nobody waits.
  static func acceptConnection(_ listener: Int32) throws(SocketError) -> Int32? {
    while true {
      let descriptor = systemAccept(listener)
      if descriptor >= 0 { return descriptor }
      switch errno {
      case EINTR, ECONNABORTED: continue
      case EAGAIN: return nil
      case let code: throw SocketError("cannot accept a connection", code: code)
      }
    }
  }

  /// Sends bytes without waiting.
  ///
  /// - Returns: The number of bytes that were sent, which may be 0, or `nil` if the connection is broken.
  package static func sendNow(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int? {
    while true {
      let count = systemSend(descriptor, bytes)
      if count >= 0 { return count }
      switch errno {
      case EINTR: continue
      case EAGAIN, ENOBUFS: return 0
      default: return nil
      }
    }
  }

  /// The result of an attempt to receive.
  package enum Received: Sendable, Hashable {
    case bytes(Int)
    /// Nothing was sent yet.
    case nothing
    /// The other side sends no more.
    case end
    case failed(code: Int32)
  }

  /// Receives bytes without waiting.
  package static func receive(
    into buffer: UnsafeMutableRawBufferPointer, from descriptor: Int32
  ) -> Received {
    while true {
      let count = read(descriptor, buffer.baseAddress, buffer.count)
      if count > 0 { return .bytes(count) }
      if count == 0 { return .end }
      switch errno {
      case EINTR: continue
      case EAGAIN: return .nothing
      case let code: return .failed(code: code)
      }
    }
  }

  /// Returns the reason to refuse the process at the other end, or `nil` if it belongs to this user or to root.
  ///
  /// - Parameters:
  ///   - peer: The part of the other process, `server` or `client`.
  ///   - part: The part of this process.
  static func refusal(of peer: String, _ descriptor: Int32, by part: String) -> String? {
    let own = geteuid()
    guard let user = peerUser(descriptor) else { return "the user of the \(peer) is not known" }
    let isKnown = isKnown(user)
    if user == 0 || user == own && isKnown { return nil }
    return "the \(peer) runs as user \(user)"
      + (isKnown ? "" : ", the number of every user whom this user namespace does not know,")
      + " and the \(part) as user \(own); run both as one user"
      + (isKnown ? "" : " in a user namespace that knows it (unshare --map-current-user)")
  }

  /// Allows as many open files as the system permits to this process, because each connection needs one.
  package static func raiseFileLimit() { setFileLimit(.max) }

  /// Sets the number of files that this process may open. The system can permit fewer.
  static func setFileLimit(_ count: Int) {
    var limit = rlimit()
    guard getrlimit(fileLimit, &limit) == 0 else { return }
    limit.rlim_cur = min(rlim_t(count), limit.rlim_max)
    setrlimit(fileLimit, &limit)
  }

  // MARK: Helpers

  private static func removeUnused(_ path: ByteString, _ operation: String) throws(SocketError) {
    guard let found = identity(of: path) else { return }
    guard found.isSocket else {
      throw SocketError(
        operation, "a file that is no socket is there; remove it, or use another path")
    }
    do throws(SocketError) {
      close(try makeConnection(to: path))
    } catch {
      if error.code == ECONNREFUSED {
        removeFile(at: path)
        return
      }
      // A process that listens may have no room for another client.
      guard error.code == EAGAIN else { throw SocketError(operation, error.reason) }
    }
    throw SocketError(
      operation, "another process listens there; stop it, or use another path")
  }

  private static func makeSocket(_ operation: String) throws(SocketError) -> Int32 {
    let descriptor = systemSocket()
    guard descriptor >= 0 else { throw SocketError(operation, code: errno) }
    return descriptor
  }

  private static func removeFile(at path: ByteString) {
    _ = path.withCString { unlink($0) }
  }

  private static func identity(of path: ByteString) -> (identity: FileIdentity, isSocket: Bool)? {
    var status = stat()
    guard path.withCString({ lstat($0, &status) }) == 0 else { return nil }
    return (FileIdentity(status), status.st_mode & S_IFMT == S_IFSOCK)
  }

  private static func address(
    of path: ByteString, _ operation: String
  ) throws(SocketError) -> sockaddr_un {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let capacity = withUnsafeBytes(of: &address.sun_path) { $0.count }
    let bytes = path.bytes
    guard !bytes.isEmpty, !bytes.contains(0) else {
      throw SocketError(operation, "the path is empty or contains a NUL character")
    }
    guard bytes.count < capacity else {
      throw SocketError(
        operation,
        "the path has \(bytes.count) bytes, but a socket's path has at most \(capacity - 1); "
          + "use a shorter path")
    }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    return address
  }

  private static func withSocketAddress(
    _ address: inout sockaddr_un, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }

  #if canImport(Darwin)
    private static var fileLimit: Int32 { RLIMIT_NOFILE }

    private static func systemSocket() -> Int32 { configured(socket(AF_UNIX, SOCK_STREAM, 0)) }

    private static func systemAccept(_ from: Int32) -> Int32 { configured(accept(from, nil, nil)) }

    private static func configured(_ descriptor: Int32) -> Int32 {
      guard descriptor >= 0 else { return descriptor }
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
      _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
      var value: Int32 = 1
      setsockopt(
        descriptor, SOL_SOCKET, SO_NOSIGPIPE, &value, socklen_t(MemoryLayout<Int32>.size))
      return descriptor
    }

    private static func systemSend(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
      send(descriptor, bytes.baseAddress, bytes.count, 0)
    }

    private static func isKnown(_ user: uid_t) -> Bool { true }

    private static func peerUser(_ descriptor: Int32) -> uid_t? {
      var user: uid_t = 0
      var group: gid_t = 0
      return getpeereid(descriptor, &user, &group) == 0 ? user : nil
    }
  #else
    private static let accept4: (@convention(c) (Int32, Int, Int, Int32) -> Int32)? =
      gnuFunction("accept4")
    private static var flags: Int32 { Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue) }
    private static var fileLimit: __rlimit_resource_t {
      __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    }

    private static func systemSocket() -> Int32 {
      socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | flags, 0)
    }

    // With two null pointers instead of a place for the address.
    private static func systemAccept(_ from: Int32) -> Int32 {
      errno = ENOSYS
      return accept4?(from, 0, 0, flags) ?? -1
    }

    private static func systemSend(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
      send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
    }

    private static func peerUser(_ descriptor: Int32) -> uid_t? {
      // The type `ucred` is not visible in Swift: it has the process, the user and the group.
      var values: [UInt32] = [0, 0, 0]
      var size = socklen_t(12)
      guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &values, &size) == 0, size == 12 else {
        return nil
      }
      return uid_t(values[1])
    }
  #endif
}
