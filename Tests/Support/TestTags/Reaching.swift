package import DataSourceTesting
import Foundation
package import Testing

/// Counts the cases that a random test reaches, and fails the test if it never reached one of them.
///
/// The cases are checked when the test has run with all its arguments.
package struct Reaching: TestTrait, TestScoping {
  /// The least number of times that a test must reach each of its cases.
  ///
  /// Set `SWAPPABLE_REACH=30` to find the cases that a test reaches by luck.
  private static let least =
    ProcessInfo.processInfo.environment["SWAPPABLE_REACH"].flatMap { Int($0) } ?? 1

  fileprivate let cases: [Coverage.Cases]

  package func scopeProvider(for test: Test, testCase: Test.Case?) -> Reaching? {
    testCase == nil ? self : nil
  }

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    let coverage = Coverage(cases)
    try await Coverage.$current.withValue(coverage) { try await function() }
    try coverage.check(least: Self.least)
  }
}

extension Trait where Self == Reaching {
  /// Declares the cases that a random test must reach.
  package static func reaches(_ cases: Coverage.Cases...) -> Self { Reaching(cases: cases) }
}
