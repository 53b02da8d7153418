/// When to read again a file whose change was found by looking at its stamp, which may hide another.
///
/// The clock of a file system may tick only every two seconds, so that the next write of the same length
/// leaves the stamp as it is. And writes to a mapping of a file change its times only where the page was
/// clean: it may stay dirty for half a minute. So the file is read after 2, 4, 8, 16, 32 and 64 seconds.
struct WatchDoubt: Sendable {
  private var age = Duration.zero
  private var next = Duration.seconds(2)

  private static let end = Duration.seconds(64)

  /// Lets time pass, and ends what has lasted long enough.
  ///
  /// - Returns: whether it is time to read.
  static func pass(_ time: Duration, of doubt: inout WatchDoubt?) -> Bool {
    guard var passed = doubt else { return false }
    passed.age += time
    let isDue = passed.age >= passed.next
    if isDue { passed.next *= 2 }
    doubt = passed.next > end ? nil : passed
    return isDue
  }
}
