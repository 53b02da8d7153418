#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Returns a Boolean value that indicates whether a path begins at the root.
package func isAbsolutePath(_ path: String) -> Bool {
  // Compare bytes: a combining character after the slash forms one character with it.
  path.utf8.first == UInt8(ascii: "/")
}

/// Returns a path that does not depend on the working directory.
///
/// The function resolves neither symbolic links nor `..`. If the working directory was removed, the path
/// stays relative, because no absolute path leads to the same place.
package func absolutePath(_ path: String) -> String {
  guard !isAbsolutePath(path), let directory = getcwd(nil, 0) else { return path }
  defer { free(directory) }
  return String(cString: directory) + "/" + path
}
