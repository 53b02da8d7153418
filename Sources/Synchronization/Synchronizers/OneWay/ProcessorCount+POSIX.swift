#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Returns the number of active processors, at least 1.
func processorCount() -> Int {
  max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
}
