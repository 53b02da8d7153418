import SwappablePrimitives

/// The checks of files and databases, besides the changes that the system reports.
///
/// Not all changes are reported: a file may be written through memory, or below a file system that knows nothing of it. So
/// sources also look by themselves: often after a change, and more and more rarely when nothing happens.
public enum SourceChecks {
  /// The longest pause between two checks of a file or a database in this process, or `nil` for the usual 2 seconds.
  ///
  /// A shorter pause finds silent changes earlier, and costs a wake-up of the process each time. A pause of less than 10
  /// milliseconds counts as 10. Pauses that have begun are not shortened.
  public static var longestPause: Duration? {
    get { CheckPace.longestPause.withLock { $0 } }
    set { CheckPace.longestPause.withLock { $0 = newValue.map { max($0, .milliseconds(10)) } } }
  }
}
