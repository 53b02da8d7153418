@_exported import CDarwin

// MARK: The status of files

public typealias off_t = Int64

@discardableResult
public func lseek(_ descriptor: Int32, _ offset: off_t, _ whence: Int32) -> off_t { stub() }

@discardableResult
public func stat(
  _ path: UnsafePointer<CChar>!, _ status: UnsafeMutablePointer<stat>!
) -> Int32 { stub() }

@discardableResult
public func lstat(
  _ path: UnsafePointer<CChar>!, _ status: UnsafeMutablePointer<stat>!
) -> Int32 { stub() }

@discardableResult
public func fstat(_ descriptor: Int32, _ status: UnsafeMutablePointer<stat>!) -> Int32 { stub() }

public var S_IFMT: mode_t { stub() }
public var S_IFREG: mode_t { stub() }
public var S_IFIFO: mode_t { stub() }
public var S_IFDIR: mode_t { stub() }
public var S_IFLNK: mode_t { stub() }

@discardableResult
public func statfs(
  _ path: UnsafePointer<CChar>!, _ status: UnsafeMutablePointer<statfs>!
) -> Int32 { stub() }

public var MNT_LOCAL: Int32 { stub() }

// MARK: Paths

@discardableResult
public func getcwd(
  _ buffer: UnsafeMutablePointer<CChar>!, _ count: Int
) -> UnsafeMutablePointer<CChar>! { stub() }

/// The buffer is typed in C. Swift converts raw pointers for functions of C only.
@discardableResult
public func readlink(
  _ path: UnsafePointer<CChar>!, _ buffer: UnsafeMutableRawPointer!, _ count: Int
) -> Int { stub() }

public var PATH_MAX: Int32 { stub() }

// MARK: Descriptors

@discardableResult
public func open(_ path: UnsafePointer<CChar>, _ flags: Int32) -> Int32 { stub() }

@discardableResult
public func close(_ descriptor: Int32) -> Int32 { stub() }

@discardableResult
public func read(
  _ descriptor: Int32, _ buffer: UnsafeMutableRawPointer!, _ count: Int
) -> Int { stub() }

@discardableResult
public func pread(
  _ descriptor: Int32, _ buffer: UnsafeMutableRawPointer!, _ count: Int, _ offset: off_t
) -> Int { stub() }

@discardableResult
public func write(_ descriptor: Int32, _ buffer: UnsafeRawPointer!, _ count: Int) -> Int { stub() }

@discardableResult
public func pipe(_ ends: UnsafeMutablePointer<Int32>!) -> Int32 { stub() }

@discardableResult
public func fcntl(_ descriptor: Int32, _ command: Int32, _ value: Int32) -> Int32 { stub() }

@discardableResult
public func fsync(_ descriptor: Int32) -> Int32 { stub() }

public var F_FULLFSYNC: Int32 { stub() }
public var F_SETFD: Int32 { stub() }
public var F_DUPFD_CLOEXEC: Int32 { stub() }
public var F_SETFL: Int32 { stub() }
public var FD_CLOEXEC: Int32 { stub() }
public var O_RDONLY: Int32 { stub() }
public var O_WRONLY: Int32 { stub() }
public var O_NONBLOCK: Int32 { stub() }
public var O_CLOEXEC: Int32 { stub() }
public var O_NOCTTY: Int32 { stub() }
public var O_DIRECTORY: Int32 { stub() }

public func openat(_ folder: Int32, _ path: UnsafePointer<CChar>!, _ flags: Int32) -> Int32 {
  stub()
}

public func fdopendir(_ descriptor: Int32) -> UnsafeMutablePointer<DIR>! { stub() }
public var O_EVTONLY: Int32 { stub() }
public var O_SYMLINK: Int32 { stub() }

public typealias nfds_t = UInt32

public struct pollfd {
  public var fd: Int32
  public var events: Int16
  public var revents: Int16

  public init(fd: Int32, events: Int16, revents: Int16) { stub() }
}

@discardableResult
public func poll(
  _ requests: UnsafeMutablePointer<pollfd>!, _ count: nfds_t, _ milliseconds: Int32
) -> Int32 { stub() }

public var POLLIN: Int32 { stub() }
public var POLLOUT: Int32 { stub() }

public func readdir(_ directory: UnsafeMutablePointer<DIR>!) -> UnsafeMutablePointer<dirent>! {
  stub()
}

@discardableResult
public func closedir(_ directory: UnsafeMutablePointer<DIR>!) -> Int32 { stub() }

public func strlen(_ text: UnsafePointer<CChar>!) -> Int { stub() }

// MARK: Access

public var AT_FDCWD: Int32 { -2 }
public var W_OK: Int32 { 2 }
public var X_OK: Int32 { 1 }
public var AT_EACCESS: Int32 { 0x10 }
public func faccessat(
  _ directory: Int32, _ path: UnsafePointer<CChar>, _ mode: Int32, _ flags: Int32
) -> Int32 { stub() }
