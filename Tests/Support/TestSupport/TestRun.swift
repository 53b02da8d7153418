import Foundation

/// The options of a run of the tests, from the environment.
package enum TestRun {
  /// A Boolean value that indicates whether random tests try many cases, which takes minutes or hours.
  ///
  /// Set `SWAPPABLE_LONG=1` for a long run.
  package static let isLong = ProcessInfo.processInfo.environment["SWAPPABLE_LONG"] == "1"

  /// A Boolean value that indicates whether the tests run under the thread sanitizer, which makes them many times slower.
  private static let isSanitized =
    ProcessInfo.processInfo.environment["SWAPPABLE_SANITIZED", default: ""] != ""

  /// Returns the number of rounds of a test that finds more, the longer it runs.
  ///
  /// - Parameters:
  ///   - usual: The number in an ordinary run. Under the thread sanitizer, it is a quarter of that, and at least 1.
  ///   - long: The number in a long run.
  package static func rounds(_ usual: Int, long: Int) -> Int {
    if isLong { return long }
    return isSanitized ? max(1, usual / 4) : usual
  }

  /// A Boolean value that indicates whether tests draw the pictures of the documentation again.
  ///
  /// Set `SWAPPABLE_DRAW=1` after the program in a picture has changed.
  package static let drawsPictures = ProcessInfo.processInfo.environment["SWAPPABLE_DRAW"] == "1"

  /// The first seed of random tests, or `nil` if each test chooses its own.
  ///
  /// Set `SWAPPABLE_SEED` to the seed that a failed test printed, to repeat the test.
  package static let seed = ProcessInfo.processInfo.environment["SWAPPABLE_SEED"].flatMap {
    UInt64($0)
  }
}
