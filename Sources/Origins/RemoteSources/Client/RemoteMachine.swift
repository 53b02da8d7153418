import ObservableCollections

/// A state machine that decides how a client follows a list on a server.
///
/// The machine performs nothing. Its owner performs the returned actions in order. Each state has an answer to each
/// input:
///
/// | input | idle | connecting | live | pausing | stopped |
/// |---|---|---|---|---|---|
/// | `start` | connect | – | – | – | – |
/// | `initial` | – | publish, live | publish if it is newer, otherwise break | – | – |
/// | `change` | – | as `invalid` | publish | – | – |
/// | `alive` | – | live if it answers the token, otherwise as `invalid` | break if the revision differs | – | – |
/// | `status` | – | show it if it has an error | show it | – | – |
/// | `broken` | – | as `refused`, but silently at first if there are no contents | break, at first silently | – | – |
/// | `lasted` | – | – | the earlier failures no longer count | – | – |
/// | `refused` | – | break, without token if the server may have rejected it | break | – | – |
/// | `ended` | – | disconnect, show the reason, stop | the same | – | – |
/// | `invalid` | – | as `broken`, but without token | break | – | – |
/// | `mismatch` | – | break without token | break without token | – | – |
/// | `retry` | – | – | – | connect | – |
/// | `stop` | stop | disconnect, stop | disconnect, stop | stop | – |
///
/// To break means to disconnect, to show the reason, and to pause. A dash means that nothing happens. A connection without
/// contents does not break silently if the server asks for a pause. A live one breaks silently if it has lasted for some
/// time, and the server asks for a short pause at most.
struct RemoteMachine {
  enum State: Hashable, CaseIterable {
    /// Nobody observes the source yet.
    case idle
    /// A connection is being made, or has not sent contents yet.
    case connecting
    /// The client has the contents of the server.
    case live
    /// The machine waits before it connects again.
    case pausing
    case stopped
  }

  enum Input: Hashable {
    case start
    /// The contents at a revision, and the status of the source if it has failed.
    case initial(revision: Int, token: String?, failure: SourceStatus? = nil)
    /// A change from the present revision to another one.
    case change(revision: Int, token: String?)
    /// The server has no change since a revision, or it resumes from the token that the client has sent. The failure is
    /// the status of the source if it has failed, in an answer.
    case alive(since: String?, revision: Int, token: String, failure: SourceStatus? = nil)
    case status(SourceStatus)
    /// The connection ended. The server may ask for an additional pause.
    case broken(SourceError, after: Duration = .zero)
    /// The connection has been live for some time.
    case lasted
    /// The connection could not be made, or the server does not send the list, or nothing at all.
    case refused(SourceError, after: Duration = .zero)
    /// The server asks clients not to connect again.
    case ended(SourceError)
    /// A line is not valid.
    case invalid(SourceError)
    /// A change does not fit the contents.
    case mismatch(SourceError)
    /// The pause is over.
    case retry
    case stop
  }

  enum Action: Hashable {
    case connect(since: String?)
    case disconnect
    /// Report when the connection has been live for some time.
    case awaitSuccess
    /// Publish the received contents or change, and set the status.
    case publish(SourceStatus)
    case show(SourceStatus)
    /// Wait before the next attempt: a time that the server asks for, and then a pause that depends on the number of
    /// attempts without success.
    case pause(failures: Int, after: Duration = .zero)
  }

  private(set) var state = State.idle
  /// The server's revision of the contents, or `nil` before the first contents.
  private(set) var revision: Int?
  /// The token to resume from.
  private(set) var token: String?
  /// The status of the source on the server.
  private var reported = SourceStatus.loaded
  /// The number of connections that have failed one after another. A connection that ends early has failed, too: its
  /// server may end each one.
  private var failures = 0
  /// Makes the error for a reason of this machine.
  private let error: @Sendable (String) -> SourceError

  /// - Parameter error: A closure that makes the error for a reason of this machine.
  init(error: @escaping @Sendable (String) -> SourceError) { self.error = error }

  mutating func handle(_ input: Input) -> [Action] {
    switch (state, input) {
    case (.idle, .start):
      state = .connecting
      return [.show(.loading), .connect(since: nil)]
    case (.pausing, .retry):
      state = .connecting
      return [.connect(since: token)]
    // The status comes with the contents: a reader that waits for them never sees one without the other.
    case (.connecting, .initial(let revision, let token, let failure)):
      reported = failure ?? .loaded
      return [.awaitSuccess, .publish(advance(to: revision, token))]
    case (.live, .initial(let revision, let token, let failure)):
      guard let known = self.revision, revision > known else {
        return breakOff(error("the server sent the contents of an earlier revision"))
      }
      reported = failure ?? .loaded
      return [.publish(advance(to: revision, token))]
    case (.connecting, .change):
      // Its revisions may belong to another server.
      return handle(.invalid(error(Self.unanswered)))
    case (.live, .change(let revision, let token)):
      return [.publish(advance(to: revision, token))]
    case (.connecting, .alive(let request, let revision, let token, let failure)):
      // A change may have been lost before a line that does not answer the token.
      guard let request, request == self.token else {
        return handle(.invalid(error(Self.unanswered)))
      }
      reported = failure ?? .loaded
      return [.awaitSuccess, .show(advance(to: revision, token))]
    case (.live, .alive(_, let revision, _, _)):
      return revision == self.revision ? [] : breakOff(error("a change was lost"))
    case (.connecting, .status(let status)):
      return status.error != nil ? [.show(status)] : []
    case (.live, .status(let status)):
      reported = status
      return [.show(status)]
    case (.connecting, .broken(let error, let delay)):
      countTokenFailure(error)
      return breakOff(
        error, after: delay,
        isSilent: revision == nil && failures < Self.silentFailures && delay == .zero)
    case (.connecting, .refused(let error, let delay)):
      countTokenFailure(error)
      return breakOff(error, after: delay)
    case (.live, .broken(let error, let delay)):
      // Many servers and proxies end each stream after a while. The status changes if it cannot be continued.
      return breakOff(
        error, after: delay, isSilent: failures == 0 && delay <= Self.longestSilentPause)
    case (.live, .refused(let error, let delay)): return breakOff(error, after: delay)
    // The server may answer the same token in the same way again.
    case (.connecting, .invalid(let error)):
      token = nil
      return handle(.broken(error))
    case (.live, .invalid(let error)): return breakOff(error)
    case (.live, .lasted):
      failures = 0
      return []
    case (.connecting, .ended(let error)), (.live, .ended(let error)):
      state = .stopped
      return [.disconnect, .show(.failed(error))]
    case (.connecting, .mismatch(let error)), (.live, .mismatch(let error)):
      token = nil
      return breakOff(error)
    case (.connecting, .stop), (.live, .stop):
      state = .stopped
      return [.disconnect]
    case (.idle, .stop), (.pausing, .stop):
      state = .stopped
      return []
    case (.idle, _), (.connecting, _), (.live, _), (.pausing, _), (.stopped, _): return []
    }
  }

  /// Records the revision of the contents, and returns their status.
  private mutating func advance(to revision: Int, _ token: String?) -> SourceStatus {
    state = .live
    (self.revision, self.token) = (revision, token)
    return reported
  }

  /// The reason to leave a server whose first line does not answer the token.
  private static let unanswered = "the server did not answer the request"
  /// The number of connections that may break before the first contents without a failure of the source.
  private static let silentFailures = 4
  /// The longest time that a server can ask for without a change of the status.
  private static let longestSilentPause = Duration.seconds(5)
  /// The status codes with which a server may reject a token that it cannot read, that is too old, or that is too long.
  private static let tokenCodes: Set = [400, 409, 410, 412, 422, 431]

  /// Forgets the token if the server may be unable to answer it: it says so, or it was reached several times without
  /// success.
  private mutating func countTokenFailure(_ error: SourceError) {
    let failure = error.underlying as? TransportError
    let isReached = failure?.isAtConnecting != true
    if failure?.statusCode.map(Self.tokenCodes.contains)
      ?? (isReached && failures >= Self.silentFailures)
    {
      token = nil
    }
  }

  private mutating func breakOff(
    _ error: SourceError, after delay: Duration = .zero, isSilent: Bool = false
  ) -> [Action] {
    state = .pausing
    failures += 1
    let status = isSilent ? [] : [Action.show(.failed(error))]
    return [.disconnect] + status + [.pause(failures: failures, after: delay)]
  }
}
