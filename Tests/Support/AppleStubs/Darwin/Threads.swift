public struct os_unfair_lock_s {
  public init() {}
}

public typealias os_unfair_lock = os_unfair_lock_s
public typealias os_unfair_lock_t = UnsafeMutablePointer<os_unfair_lock_s>

public func os_unfair_lock_lock(_ lock: os_unfair_lock_t) { stub() }
public func os_unfair_lock_unlock(_ lock: os_unfair_lock_t) { stub() }
public func os_unfair_lock_trylock(_ lock: os_unfair_lock_t) -> Bool { stub() }

// MARK: POSIX threads

public struct _opaque_pthread_t {}

public typealias pthread_t = UnsafeMutablePointer<_opaque_pthread_t>
public typealias pthread_key_t = UInt

@discardableResult
public func pthread_self() -> pthread_t { stub() }

@discardableResult
public func sched_yield() -> Int32 { stub() }
@discardableResult
public func usleep(_ microseconds: UInt32) -> Int32 { stub() }

@discardableResult
public func pthread_key_create(
  _ key: UnsafeMutablePointer<pthread_key_t>!,
  _ destructor: (@convention(c) (UnsafeMutableRawPointer) -> Void)!
) -> Int32 { stub() }

@discardableResult
public func pthread_getspecific(_ key: pthread_key_t) -> UnsafeMutableRawPointer? { stub() }

@discardableResult
public func pthread_setspecific(_ key: pthread_key_t, _ value: UnsafeRawPointer?) -> Int32 {
  stub()
}

public struct pthread_mutex_t {
  public init() {}
}
public struct pthread_mutexattr_t {}
public struct pthread_cond_t {
  public init() {}
}
public struct pthread_condattr_t {}

@discardableResult
public func pthread_mutex_init(
  _ mutex: UnsafeMutablePointer<pthread_mutex_t>, _ attributes: UnsafePointer<pthread_mutexattr_t>?
) -> Int32 { stub() }

@discardableResult
public func pthread_mutex_destroy(_ mutex: UnsafeMutablePointer<pthread_mutex_t>) -> Int32 {
  stub()
}

@discardableResult
public func pthread_mutex_lock(_ mutex: UnsafeMutablePointer<pthread_mutex_t>) -> Int32 { stub() }

@discardableResult
public func pthread_mutex_unlock(_ mutex: UnsafeMutablePointer<pthread_mutex_t>) -> Int32 { stub() }

@discardableResult
public func pthread_cond_init(
  _ condition: UnsafeMutablePointer<pthread_cond_t>,
  _ attributes: UnsafePointer<pthread_condattr_t>?
) -> Int32 { stub() }

@discardableResult
public func pthread_cond_destroy(_ condition: UnsafeMutablePointer<pthread_cond_t>) -> Int32 {
  stub()
}

@discardableResult
public func pthread_cond_signal(_ condition: UnsafeMutablePointer<pthread_cond_t>) -> Int32 {
  stub()
}

@discardableResult
public func pthread_cond_timedwait_relative_np(
  _ condition: UnsafeMutablePointer<pthread_cond_t>, _ mutex: UnsafeMutablePointer<pthread_mutex_t>,
  _ time: UnsafePointer<timespec>?
) -> Int32 { stub() }

// MARK: Signals

public typealias pid_t = Int32
public typealias sig_t = @convention(c) (Int32) -> Void
public typealias sigset_t = UInt32

@discardableResult
public func signal(
  _ number: Int32, _ handler: (@convention(c) (Int32) -> Void)!
) -> (@convention(c) (Int32) -> Void)! { stub() }

@discardableResult
public func sigaction(
  _ number: Int32, _ new: UnsafePointer<sigaction>!, _ old: UnsafeMutablePointer<sigaction>!
) -> Int32 { stub() }

@discardableResult
public func kill(_ process: pid_t, _ number: Int32) -> Int32 { stub() }

@discardableResult
public func raise(_ number: Int32) -> Int32 { stub() }

@discardableResult
public func sigemptyset(_ set: UnsafeMutablePointer<sigset_t>!) -> Int32 { stub() }

@discardableResult
public func sigaddset(_ set: UnsafeMutablePointer<sigset_t>!, _ number: Int32) -> Int32 { stub() }

@discardableResult
public func pthread_sigmask(
  _ how: Int32, _ new: UnsafePointer<sigset_t>!, _ old: UnsafeMutablePointer<sigset_t>!
) -> Int32 { stub() }

@discardableResult
public func sigpending(_ set: UnsafeMutablePointer<sigset_t>!) -> Int32 { stub() }

@discardableResult
public func sigismember(_ set: UnsafePointer<sigset_t>!, _ number: Int32) -> Int32 { stub() }

@discardableResult
public func sigwait(
  _ set: UnsafePointer<sigset_t>!, _ number: UnsafeMutablePointer<Int32>!
) -> Int32 { stub() }

public var SIG_BLOCK: Int32 { stub() }
public var SIG_DFL: sig_t? { stub() }
public var SIG_IGN: sig_t { stub() }
public var SIG_UNBLOCK: Int32 { stub() }
public var SIG_SETMASK: Int32 { stub() }
public var SIGHUP: Int32 { stub() }
public var SIGINT: Int32 { stub() }
public var SIGPIPE: Int32 { stub() }
public var SIGTERM: Int32 { stub() }
public var SIGQUIT: Int32 { stub() }
public var SIGALRM: Int32 { stub() }
public var SIGUSR1: Int32 { stub() }
public var SIGUSR2: Int32 { stub() }
public var SIGTSTP: Int32 { stub() }
public var SIGCONT: Int32 { stub() }
public var SIGWINCH: Int32 { stub() }
public var SIGTTIN: Int32 { stub() }
public var SIGTTOU: Int32 { stub() }
public var SIGXCPU: Int32 { stub() }
public var SIGXFSZ: Int32 { stub() }
public var SIGPROF: Int32 { stub() }
public var SIGVTALRM: Int32 { stub() }
public var SIGILL: Int32 { stub() }
public var SIGTRAP: Int32 { stub() }
public var SIGABRT: Int32 { stub() }
public var SIGBUS: Int32 { stub() }
public var SIGFPE: Int32 { stub() }
public var SIGSEGV: Int32 { stub() }
public var SIGSYS: Int32 { stub() }
public var SA_ONSTACK: Int32 { stub() }
