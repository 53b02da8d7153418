/// Why a one-way synchronisation did not succeed.
///
/// Its description is one line: which stages and keys failed and why, and how many more.
public struct OneWayError: Error, Sendable {
  /// The kind of failure.
  public enum Code: String, Sendable, Hashable {
    /// Something went wrong; `failures` tells what.
    case failed
    /// It was cancelled.
    case cancelled
  }

  /// The kind of failure.
  public var code: Code
  /// The stage of the first failure, or the one in which it was cancelled.
  ///
  /// It is nil where it was cancelled before it had begun.
  public var stage: OneWayStage?
  /// All that went wrong, in the order in which it did; what else went wrong where it was cancelled.
  public var failures: [OneWayFailure]

  /// Whether it was cancelled.
  public var isCancelled: Bool { code == .cancelled }

  /// Makes an error.
  ///
  /// - Parameters:
  ///   - code: The kind of failure.
  ///   - stage: The stage of the first failure, or the one in which it was cancelled.
  ///   - failures: All that went wrong.
  public init(code: Code, stage: OneWayStage?, failures: [OneWayFailure]) {
    self.code = code
    self.stage = stage
    self.failures = failures
  }
}

extension OneWayError {
  init(failures: [OneWayFailure]) {
    self.init(code: .failed, stage: failures.first?.stage, failures: failures)
  }

  /// What a run throws is one of these already.
  init(any error: any Error) {
    self =
      error as? OneWayError
      ?? OneWayError(
        code: .failed, stage: nil, failures: [OneWayFailure(stage: .end, cause: error)])
  }
}

extension OneWayError: CustomStringConvertible {
  public var description: String {
    let told = 3
    var parts = failures.prefix(told).map(\.description)
    if failures.count > told {
      let rest = failures.count - told
      parts.append("and \(rest) more \(rest == 1 ? "failure" : "failures")")
    }
    let what =
      switch code {
      case .failed: "the synchronisation failed"
      case .cancelled:
        "the synchronisation was cancelled" + (stage.map { " in the stage \($0)" } ?? "")
      }
    return parts.isEmpty ? what : "\(what): \(parts.joined(separator: "; "))"
  }
}
