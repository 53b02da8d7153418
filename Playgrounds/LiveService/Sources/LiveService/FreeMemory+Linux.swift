#if canImport(Glibc)
  import Glibc

  extension FreeMemory {
    /// The function `malloc_trim`, which the module of the C library does not declare.
    private static let trim = dlsym(nil, "malloc_trim").map {
      unsafeBitCast($0, to: (@convention(c) (Int) -> Int32).self)
    }

    static func release() {
      _ = trim?(0)
    }
  }
#else
  extension FreeMemory {
    // Other systems do this themselves.
    static func release() {}
  }
#endif
