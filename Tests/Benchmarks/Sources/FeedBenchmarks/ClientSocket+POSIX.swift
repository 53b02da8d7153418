import Foundation

/// A client's end of a connection, which does not block.
enum ClientSocket {
  /// Connects to a socket.
  ///
  /// - Returns: The descriptor, or `nil` if the connection was refused.
  static func connect(_ path: String) -> Int32? {
    #if canImport(Glibc)
      let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    #else
      let descriptor = socket(AF_UNIX, SOCK_STREAM, 0)
    #endif
    guard descriptor >= 0 else { return nil }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        #if canImport(Glibc)
          Glibc.connect(descriptor, address, size)
        #else
          Darwin.connect(descriptor, address, size)
        #endif
      }
    }
    guard result == 0 else {
      close(descriptor)
      return nil
    }
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    return descriptor
  }

  /// Sends as many bytes as can be sent now.
  ///
  /// - Returns: The number of bytes, or -1 if the connection is closed or cannot take any.
  @discardableResult
  static func send(_ bytes: [UInt8], to descriptor: Int32) -> Int {
    #if canImport(Glibc)
      Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    #else
      Darwin.send(descriptor, bytes, bytes.count, 0)
    #endif
  }

  /// Returns the line that asks for a list.
  static func request(_ list: String, since token: String? = nil) -> [UInt8] {
    let since = token.map { ",\"since\":\"\($0)\"" } ?? ""
    return Array("{\"list\":\"\(list)\"\(since)}\n".utf8)
  }

  /// Allows this process as many open files as the system permits.
  static func raiseFileLimit() {
    #if canImport(Glibc)
      let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
      let resource = RLIMIT_NOFILE
    #endif
    var limit = rlimit()
    getrlimit(resource, &limit)
    limit.rlim_cur = limit.rlim_max
    setrlimit(resource, &limit)
  }
}
