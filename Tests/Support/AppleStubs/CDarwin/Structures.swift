// Structures of Apple's Darwin whose names functions have, too. One module of Swift cannot declare both.

public typealias mode_t = UInt16
public typealias off_t = Int64

public struct timespec {
  public var tv_sec = 0
  public var tv_nsec = 0

  public init() {}
}

public struct stat {
  public var st_dev: Int32 = 0
  public var st_mode: mode_t = 0
  public var st_nlink: UInt16 = 0
  public var st_ino: UInt64 = 0
  public var st_uid: UInt32 = 0
  public var st_gid: UInt32 = 0
  public var st_mtimespec = timespec()
  public var st_ctimespec = timespec()
  public var st_size: off_t = 0

  public init() {}
}

public struct DIR {
  public init() {}
}

public struct dirent {
  // On Apple platforms, it has 1,024 bytes.
  public var d_name: (CChar, CChar) = (0, 0)

  public init() {}
}

public struct statfs {
  public var f_flags: UInt32 = 0

  public init() {}
}

public struct __sigaction_u {
  public var __sa_handler: (@convention(c) (Int32) -> Void)?

  public init() {}
}

public struct sigaction {
  public var __sigaction_u = CDarwin.__sigaction_u()
  public var sa_flags: Int32 = 0

  public init() {}
}
