#if !canImport(Darwin)
  import Foundation

  extension UnixSocket {
    /// Returns a Boolean value that indicates whether a number means one user.
    ///
    /// In a user namespace, the system shows one number, usually 65534, for all users without a number there.
    static func isKnown(_ user: uid_t) -> Bool {
      // Only a map of this length leaves no user without a number.
      (text(of: "/proc/sys/kernel/overflowuid").first ?? "65534") != "\(user)"
        || text(of: "/proc/self/uid_map").last == "4294967295"
    }

    private static func text(of path: String) -> [Substring] {
      let text = try? String(contentsOfFile: path, encoding: .utf8)
      return text?.split(whereSeparator: \.isWhitespace) ?? []
    }
  }
#endif
