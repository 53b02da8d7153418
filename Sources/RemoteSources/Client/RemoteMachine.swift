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
/// | `change` | – | publish, live | publish | – | – |
/// | `alive` | – | live if there are contents, otherwise break | break if the revision differs | – | – |
/// | `status` | – | show it if there are no contents | show it | – | – |
/// | `broken` | – | break | break | – | – |
/// | `mismatch` | – | break without token | break without token | – | – |
/// | `retry` | – | – | – | connect | – |
/// | `stop` | stop | disconnect, stop | disconnect, stop | stop | – |
///
/// To break means to disconnect, to show the reason, and to pause. A dash means that nothing happens.
struct RemoteMachine {
  enum State: Hashable, CaseIterable {
    /// Nobody observes the source yet.
    case idle
    /// A connection is being made, or has not sent contents yet.
    case connecting
    /// The contents are those of the server.
    case live
    /// The machine waits before it connects again.
    case pausing
    case stopped
  }

  enum Input: Hashable {
    case start
    /// The contents at a revision.
    case initial(revision: Int, token: String?)
    /// A change from the present revision to another one.
    case change(revision: Int, token: String?)
    /// The server has no change since a revision.
    case alive(revision: Int, token: String)
    case status(SourceStatus)
    /// The connection ended, or what it sends is of no use.
    case broken(SourceError)
    /// A change does not fit the contents.
    case mismatch(SourceError)
    /// The pause is over.
    case retry
    case stop
  }

  enum Action: Hashable {
    case connect(since: String?)
    case disconnect
    /// Publish the received contents or change, and set the status.
    case publish(SourceStatus)
    case show(SourceStatus)
    /// Wait before the next attempt. The number of attempts without success is given.
    case pause(failures: Int)
  }

  private(set) var state = State.idle
  /// The server's revision of the contents, or `nil` before the first contents.
  private(set) var revision: Int?
  /// The token to resume from.
  private(set) var token: String?
  /// The status of the source on the server.
  private var reported = SourceStatus.loaded
  private var failures = 0

  mutating func handle(_ input: Input) -> [Action] {
    switch (state, input) {
    case (.idle, .start):
      state = .connecting
      return [.show(.loading), .connect(since: nil)]
    case (.pausing, .retry):
      state = .connecting
      return [.connect(since: token)]
    case (.connecting, .initial(let revision, let token)):
      reported = .loaded
      return [.publish(advance(to: revision, token))]
    case (.live, .initial(let revision, let token)):
      guard let known = self.revision, revision > known else {
        return breakOff(Self.error("the server sent the contents of an earlier revision"))
      }
      return [.publish(advance(to: revision, token))]
    case (.connecting, .change(let revision, let token)):
      reported = .loaded
      return [.publish(advance(to: revision, token))]
    case (.live, .change(let revision, let token)):
      return [.publish(advance(to: revision, token))]
    case (.connecting, .alive(let revision, let token)):
      guard self.revision != nil else {
        return breakOff(Self.error("the server sent no contents"))
      }
      reported = .loaded
      return [.show(advance(to: revision, token))]
    case (.live, .alive(let revision, _)):
      if revision == self.revision { return [] }
      return breakOff(Self.error("a change was lost"))
    case (.connecting, .status(let status)):
      return revision == nil && status.error != nil ? [.show(status)] : []
    case (.live, .status(let status)):
      reported = status
      return [.show(status)]
    case (.connecting, .broken(let error)), (.live, .broken(let error)):
      return breakOff(error)
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
    failures = 0
    return reported
  }

  private mutating func breakOff(_ error: SourceError) -> [Action] {
    state = .pausing
    failures += 1
    return [.disconnect, .show(.failed(error)), .pause(failures: failures)]
  }

  private static func error(_ reason: String) -> SourceError {
    SourceError(code: "remote-protocol", message: "\(reason); the connection is made again")
  }
}
