public typealias sa_family_t = UInt8
public typealias socklen_t = UInt32
public typealias uid_t = UInt32
public typealias gid_t = UInt32

public struct sockaddr {
  public init() {}
}

/// In C, the path is an array of 104 characters. Swift imports it as a tuple of them.
public struct sockaddr_un {
  public var sun_len: UInt8 = 0
  public var sun_family: sa_family_t = 0
  public var sun_path: (CChar, CChar, CChar, CChar) = (0, 0, 0, 0)

  public init() {}
}

public var AF_UNIX: Int32 { stub() }
public var SOCK_STREAM: Int32 { stub() }
public var SOL_SOCKET: Int32 { stub() }
public var SO_NOSIGPIPE: Int32 { stub() }

public func socket(_ family: Int32, _ type: Int32, _ number: Int32) -> Int32 { stub() }

public func bind(
  _ descriptor: Int32, _ address: UnsafePointer<sockaddr>!, _ count: socklen_t
) -> Int32 { stub() }

public func listen(_ descriptor: Int32, _ backlog: Int32) -> Int32 { stub() }

public func accept(
  _ descriptor: Int32, _ address: UnsafeMutablePointer<sockaddr>!,
  _ count: UnsafeMutablePointer<socklen_t>!
) -> Int32 { stub() }

public func connect(
  _ descriptor: Int32, _ address: UnsafePointer<sockaddr>!, _ count: socklen_t
) -> Int32 { stub() }

public func send(
  _ descriptor: Int32, _ bytes: UnsafeRawPointer!, _ count: Int, _ flags: Int32
) -> Int { stub() }

@discardableResult
public func setsockopt(
  _ descriptor: Int32, _ level: Int32, _ name: Int32, _ value: UnsafeRawPointer!,
  _ count: socklen_t
) -> Int32 { stub() }

public func getpeereid(
  _ descriptor: Int32, _ user: UnsafeMutablePointer<uid_t>!, _ group: UnsafeMutablePointer<gid_t>!
) -> Int32 { stub() }

public func geteuid() -> uid_t { stub() }

// MARK: The files of sockets

public var S_IFSOCK: mode_t { stub() }

public func chmod(_ path: UnsafePointer<CChar>!, _ mode: mode_t) -> Int32 { stub() }

@discardableResult
public func unlink(_ path: UnsafePointer<CChar>!) -> Int32 { stub() }

@discardableResult
public func flock(_ descriptor: Int32, _ operation: Int32) -> Int32 { stub() }

public var LOCK_EX: Int32 { stub() }

// MARK: Limits

public typealias rlim_t = UInt64

public struct rlimit {
  public var rlim_cur: rlim_t = 0
  public var rlim_max: rlim_t = 0

  public init() {}
}

public var RLIMIT_NOFILE: Int32 { stub() }

public func getrlimit(_ resource: Int32, _ limit: UnsafeMutablePointer<rlimit>!) -> Int32 {
  stub()
}

@discardableResult
public func setrlimit(_ resource: Int32, _ limit: UnsafePointer<rlimit>!) -> Int32 { stub() }

public var ECONNABORTED: Int32 { stub() }
public var ECONNREFUSED: Int32 { stub() }
public var ENOBUFS: Int32 { stub() }
