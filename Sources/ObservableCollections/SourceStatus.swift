/// How a data source is doing, beside what it holds.
public struct SourceStatus: Sendable, Hashable {
  /// What a data source is doing.
  public enum State: Sendable, Hashable {
    /// It waits for somebody to attach, and has read nothing.
    case idle
    /// It reads for the first time, and is empty until then.
    case loading
    /// Its contents are right.
    case loaded
    /// It could not read; the last good contents stay, and it goes on trying.
    case failed(SourceError)
    /// What it reads is not there; the last good contents stay, and it goes on looking.
    case missing(SourceError)
  }

  /// What it is doing.
  public var state: State
  /// What a user may want to know of how it works.
  public var diagnostics: [SourceDiagnostic]

  /// Makes a status.
  public init(_ state: State, diagnostics: [SourceDiagnostic] = []) {
    self.state = state
    self.diagnostics = diagnostics
  }

  /// Waiting for somebody to attach.
  public static let idle = SourceStatus(.idle)
  /// Reading for the first time.
  public static let loading = SourceStatus(.loading)
  /// All is well.
  public static let loaded = SourceStatus(.loaded)

  /// Could not read.
  public static func failed(_ error: SourceError) -> SourceStatus { SourceStatus(.failed(error)) }

  /// Nothing there to read.
  public static func missing(_ error: SourceError) -> SourceStatus { SourceStatus(.missing(error)) }

  /// The error of a source that failed or is missing.
  public var error: SourceError? {
    switch state {
    case .failed(let error), .missing(let error): error
    case .idle, .loading, .loaded: nil
    }
  }

  /// The worse of two: missing before failed before loading before idle before loaded; of two that are
  /// equally bad the first. The diagnostics of both are kept.
  package func worse(_ other: SourceStatus) -> SourceStatus {
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
  /// The state, the error if there is one, and the remarks.
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

/// A remark on how a data source works: that it polls, or that identities occur twice.
public struct SourceDiagnostic: Sendable, Hashable, CustomStringConvertible {
  /// Names the kind of remark, for programs.
  public let code: String
  /// Says it to a person.
  public let message: String

  /// Makes a remark.
  public init(code: String, message: String) {
    self.code = code
    self.message = message
  }

  public var description: String { message }
}

/// Why a data source cannot show what it should.
///
/// Two are equal if code and message are.
public struct SourceError: Error, Sendable {
  /// Names the kind of error, for programs.
  public let code: String
  /// What happened, to which file or query, and what would help.
  public let message: String
  /// The error that caused it.
  public let underlying: (any Error)?

  /// Makes an error.
  ///
  /// - Parameters:
  ///   - code: Names the kind of error, for programs.
  ///   - message: What happened, to which file or query, and what would help.
  ///   - underlying: The error that caused it.
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
