// Declarations of Apple's Darwin as Swift imports them, for the type check in `.ci/apple-files`. They are
// never run. Results are discardable, as those of all functions of C.

func stub() -> Never { preconditionFailure("a stub is never run") }

// MARK: Errors

public var errno: Int32 {
  get { stub() }
  set { stub() }
}

@discardableResult
public func strerror(_ code: Int32) -> UnsafeMutablePointer<CChar>! { stub() }

public var EPERM: Int32 { stub() }
public var ENOENT: Int32 { stub() }
public var ENXIO: Int32 { stub() }
public var EINTR: Int32 { stub() }
public var EIO: Int32 { stub() }
public var EAGAIN: Int32 { stub() }
public var ENOMEM: Int32 { stub() }
public var EACCES: Int32 { stub() }
public var ENOTDIR: Int32 { stub() }
public var EISDIR: Int32 { stub() }
public var ENFILE: Int32 { stub() }
public var EMFILE: Int32 { stub() }
public var ENOSPC: Int32 { stub() }
public var EPIPE: Int32 { stub() }
public var ELOOP: Int32 { stub() }

// MARK: Memory and strings

public func free(_ memory: UnsafeMutableRawPointer!) { stub() }

@discardableResult
public func memcmp(
  _ left: UnsafeRawPointer!, _ right: UnsafeRawPointer!, _ count: Int
) -> Int32 { stub() }

@discardableResult
public func memchr(
  _ memory: UnsafeRawPointer!, _ byte: Int32, _ count: Int
) -> UnsafeMutableRawPointer! { stub() }

@discardableResult
public func strcmp(
  _ left: UnsafePointer<CChar>!, _ right: UnsafePointer<CChar>!
) -> Int32 { stub() }

@discardableResult
public func mmap(
  _ address: UnsafeMutableRawPointer!, _ count: Int, _ protection: Int32, _ flags: Int32,
  _ descriptor: Int32, _ offset: off_t
) -> UnsafeMutableRawPointer! { stub() }

@discardableResult
public func munmap(_ address: UnsafeMutableRawPointer!, _ count: Int) -> Int32 { stub() }

// swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
public var MAP_FAILED: UnsafeMutableRawPointer! { stub() }
public var MAP_PRIVATE: Int32 { stub() }
public var MAP_ANONYMOUS: Int32 { stub() }
public var PROT_READ: Int32 { stub() }
public var PROT_WRITE: Int32 { stub() }

// MARK: The process

@discardableResult
public func getenv(_ name: UnsafePointer<CChar>!) -> UnsafeMutablePointer<CChar>! { stub() }

@discardableResult
public func sysconf(_ name: Int32) -> Int { stub() }

public var _SC_NPROCESSORS_ONLN: Int32 { stub() }

@discardableResult
public func dlopen(_ path: UnsafePointer<CChar>!, _ mode: Int32) -> UnsafeMutableRawPointer! {
  stub()
}

public func dlerror() -> UnsafeMutablePointer<CChar>! { stub() }

@discardableResult
public func dlsym(
  _ handle: UnsafeMutableRawPointer!, _ symbol: UnsafePointer<CChar>!
) -> UnsafeMutableRawPointer! { stub() }

public var RTLD_NOW: Int32 { stub() }
public var RTLD_LOCAL: Int32 { stub() }
