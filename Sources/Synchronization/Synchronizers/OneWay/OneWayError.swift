/// An error of a one-way synchronization.
///
/// Its description is one line. It names the stages, keys and causes of the first failures, and the
/// number of further failures.
public struct OneWayError: Error, Sendable {
  /// The kind of an error.
  public enum Code: String, Sendable, Hashable {
    /// At least one stage or download failed; see ``OneWayError/failures``.
    case failed
    /// The run was canceled.
    case cancelled
  }

  /// A single failure of a run.
  public struct Failure: Sendable {
    /// The stage that failed.
    public let stage: OneWaySynchronizer.Stage
    /// The key of the failed item as text, or `nil` if the failure is not about an item.
    ///
    /// If several keys could not be removed, the text has the first key and the number of others.
    public let key: String?
    /// The failed item, or `nil` if the failure is not about an item.
    public let item: (any Sendable)?
    /// The error that the remote or the store threw.
    public let cause: any Error

    package init(
      stage: OneWaySynchronizer.Stage, key: String? = nil, item: (any Sendable)? = nil,
      cause: any Error
    ) {
      (self.stage, self.key, self.item, self.cause) = (stage, key, item, cause)
    }
  }

  /// The kind of the error.
  public let code: Code
  /// The stage of the first failure, or the stage in which the run was canceled.
  ///
  /// It is `nil` if the run was canceled before it began.
  public let stage: OneWaySynchronizer.Stage?
  /// All failures, in order. A canceled run may have failures, too.
  public let failures: [Failure]

  package init(code: Code, stage: OneWaySynchronizer.Stage?, failures: [Failure]) {
    (self.code, self.stage, self.failures) = (code, stage, failures)
  }

  init(failures: [Failure]) {
    self.init(code: .failed, stage: failures.first?.stage, failures: failures)
  }

  /// Creates an error from an error of a run, which normally is a `OneWayError` already.
  init(any error: any Error) {
    self =
      error as? OneWayError
      ?? OneWayError(code: .failed, stage: nil, failures: [Failure(stage: .end, cause: error)])
  }

  /// A Boolean value that indicates whether the run was canceled.
  public var isCancelled: Bool { code == .cancelled }
}

extension OneWayError: CustomStringConvertible {
  public var description: String {
    let limit = 3
    var parts = failures.prefix(limit).map(\.description)
    if failures.count > limit {
      let rest = failures.count - limit
      parts.append("and \(rest) more \(rest == 1 ? "failure" : "failures")")
    }
    let summary =
      switch code {
      case .failed: "the synchronization failed"
      case .cancelled:
        "the synchronization was canceled" + (stage.map { " in the stage \($0)" } ?? "")
      }
    return parts.isEmpty ? summary : "\(summary): \(parts.joined(separator: "; "))"
  }
}

extension OneWayError.Failure: CustomStringConvertible {
  /// A line that says what failed, for which key, and why.
  public var description: String {
    let item = key ?? "an item"
    let problem =
      switch stage {
      case .begin: "cannot begin the run"
      case .fetch: "cannot fetch the remote list"
      case .localKeys: "cannot read the local keys"
      case .remove: "cannot remove \(item) to match the remote list"
      case .shouldUpdate: "cannot find out whether \(item) must be downloaded again"
      case .prepare: "cannot prepare the downloads"
      case .preview: "cannot download the preview of \(item)"
      case .content: "cannot download and store \(item)"
      case .end: "cannot end the run"
      }
    return "\(problem): \(cause)".split(whereSeparator: \.isNewline).joined(separator: " ")
  }
}

/// Returns a key as text for a sentence: quoted if it is text, and shortened if it is long.
func shownKey(_ key: some Any) -> String {
  let limit = 60
  let scalars = String(describing: key).unicodeScalars
  let shown = String(String.UnicodeScalarView(scalars.prefix(limit)))
  let isText = key is any ExpressibleByStringLiteral
  let isQuoted = isText || scalars.contains { $0.properties.generalCategory == .control }
  return (isQuoted ? String(reflecting: shown) : shown) + (scalars.count > limit ? "…" : "")
}

/// Returns several keys as text: the first one, and the number of others.
func shownKeys(_ keys: some Collection) -> String? {
  guard let first = keys.lazy.map({ shownKey($0) }).min() else { return nil }
  return keys.count == 1 ? first : "\(first) and \(keys.count - 1) more"
}
