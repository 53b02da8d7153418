@discardableResult
public func isatty(_ descriptor: Int32) -> Int32 { stub() }

public var STDIN_FILENO: Int32 { stub() }
public var STDOUT_FILENO: Int32 { stub() }

public struct termios {
  public init() {}
}

@discardableResult
public func tcgetattr(_ descriptor: Int32, _ modes: UnsafeMutablePointer<termios>!) -> Int32 {
  stub()
}

@discardableResult
public func tcsetattr(
  _ descriptor: Int32, _ moment: Int32, _ modes: UnsafePointer<termios>!
) -> Int32 { stub() }

public func cfmakeraw(_ modes: UnsafeMutablePointer<termios>!) { stub() }

public var TCSANOW: Int32 { stub() }
public var TCSAFLUSH: Int32 { stub() }
public var TCIFLUSH: Int32 { stub() }
public var TCOFLUSH: Int32 { stub() }

@discardableResult
public func tcflush(_ descriptor: Int32, _ direction: Int32) -> Int32 { stub() }

@discardableResult
public func ttyname_r(
  _ descriptor: Int32, _ name: UnsafeMutablePointer<CChar>!, _ count: Int
) -> Int32 { stub() }

public struct winsize {
  public var ws_row: UInt16 = 0
  public var ws_col: UInt16 = 0

  public init() {}
}

@discardableResult
public func ioctl(
  _ descriptor: CInt, _ request: UInt, _ memory: UnsafeMutableRawPointer
) -> CInt { stub() }

public var TIOCGWINSZ: UInt { stub() }

public func tcgetpgrp(_ descriptor: Int32) -> pid_t { stub() }

@discardableResult
public func tcsetpgrp(_ descriptor: Int32, _ group: pid_t) -> Int32 { stub() }

public func getpgrp() -> pid_t { stub() }
