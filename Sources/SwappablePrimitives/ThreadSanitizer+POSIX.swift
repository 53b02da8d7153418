#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A Boolean value that indicates whether the program runs under the thread sanitizer.
package let isThreadSanitized = dlsym(dlopen(nil, RTLD_NOW), "__tsan_init") != nil
