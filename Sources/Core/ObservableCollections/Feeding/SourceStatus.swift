/// The condition of a data source, besides its contents.
public struct SourceStatus: Sendable, Hashable {
  /// The activity of a data source.
  public enum State: Sendable, Hashable {
    /// The source has not been started, and has read nothing.
    case idle
    /// The source reads for the first time. It is empty until it has loaded.
    case loading
    /// The source has loaded, and it reports no error. A change can still be on its way.
    case loaded
    /// The source could not read. It keeps the last good contents, and most sources try again.
    case failed(SourceError)
    /// The file or database is missing. The source keeps the last good contents and tries again.
    case missing(SourceError)
  }

  /// The activity of the source.
  public var state: State
  /// Remarks on how the source works.
  public var diagnostics: [Diagnostic]

  /// Creates a status.
  public init(_ state: State, diagnostics: [Diagnostic] = []) {
    self.state = state
    self.diagnostics = diagnostics
  }

  /// The status of a source that waits for its first observer.
  public static let idle = SourceStatus(.idle)
  /// The status of a source that reads for the first time.
  public static let loading = SourceStatus(.loading)
  /// The status of a source that has loaded, and that reports no error.
  public static let loaded = SourceStatus(.loaded)

  /// Returns the status of a source that could not read.
  public static func failed(_ error: SourceError) -> SourceStatus { SourceStatus(.failed(error)) }

  /// Returns the status of a source whose file or database is missing.
  public static func missing(_ error: SourceError) -> SourceStatus { SourceStatus(.missing(error)) }

  /// The error of a source that failed or is missing, or `nil`.
  public var error: SourceError? {
    switch state {
    case .failed(let error), .missing(let error): error
    case .idle, .loading, .loaded: nil
    }
  }

  /// Returns the worse of two statuses, with the diagnostics of both.
  ///
  /// From bad to good, the states are missing, failed, loading, idle and loaded. If both are equally bad,
  /// the state of this status is returned.
  func worse(_ other: SourceStatus) -> SourceStatus {
    var worse = other.badness > badness ? other : self
    if diagnostics != other.diagnostics {
      worse.diagnostics = diagnostics + other.diagnostics.filter { !diagnostics.contains($0) }
    }
    return worse
  }

  private var badness: Int {
    switch state {
    case .loaded: 0
    case .idle: 1
    case .loading: 2
    case .failed: 3
    case .missing: 4
    }
  }
}

extension SourceStatus: CustomStringConvertible {
  /// The state, the error if there is one, and the diagnostics.
  public var description: String {
    let state =
      switch state {
      case .idle: "idle"
      case .loading: "loading"
      case .loaded: "loaded"
      case .failed(let error): "failed: \(error)"
      case .missing(let error): "missing: \(error)"
      }
    return ([state] + diagnostics.map(\.description)).joined(separator: "; ")
  }
}

extension SourceStatus {
  /// A remark on how a data source works, for example that it polls, or that two elements have one identity.
  public struct Diagnostic: Sendable, Hashable, CustomStringConvertible {
    /// The kind of remark, for programs.
    public let code: String
    /// The remark, for people.
    public let message: String

    /// Creates a remark.
    public init(code: String, message: String) {
      self.code = code
      self.message = message
    }

    public var description: String { message }
  }
}

/// The reason why a data source has failed.
///
/// Two errors are equal if their codes and messages are equal.
public struct SourceError: Error, Sendable {
  /// The kind of error, for programs.
  public let code: String
  /// A description for people: what happened, to which file or query, and what would help.
  public let message: String
  /// The error that caused this one.
  public let underlying: (any Error)?

  /// Creates an error.
  ///
  /// - Parameters:
  ///   - code: The kind of error, for programs.
  ///   - message: A description for people: what happened, to which file or query, and what would help.
  ///   - underlying: The error that caused this one.
  public init(code: String, message: String, underlying: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.underlying = underlying
  }
}

extension SourceError: Hashable {
  public static func == (one: SourceError, other: SourceError) -> Bool {
    one.code == other.code && one.message == other.message
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(code)
    hasher.combine(message)
  }
}

extension SourceError: CustomStringConvertible {
  public var description: String { message }
}
