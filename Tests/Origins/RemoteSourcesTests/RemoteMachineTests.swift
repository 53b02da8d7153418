import ObservableCollections
@testable import RemoteSources
import Testing

/// Each state with each input, and what follows.
@Suite struct RemoteMachineTests {
  typealias Machine = RemoteMachine

  static let lost = SourceError(code: "test", message: "lost")
  static let failed = SourceStatus.failed(SourceError(code: "test", message: "failed"))

  /// Returns a machine in a state.
  ///
  /// - Parameter hasContents: A Boolean value that indicates whether the machine has the contents of revision 7.
  static func machine(_ state: Machine.State, hasContents: Bool) -> Machine {
    var machine = Machine { SourceError(code: "disconnected", message: "list: \($0)") }
    if state == .idle { return machine }
    _ = machine.handle(.start)
    if hasContents { _ = machine.handle(.initial(revision: 7, token: "seven")) }
    switch state {
    case .idle: break
    case .connecting:
      if hasContents {
        _ = machine.handle(.broken(lost))
        _ = machine.handle(.retry)
      }
    case .live: break
    case .pausing: _ = machine.handle(.broken(lost))
    case .stopped: _ = machine.handle(.stop)
    }
    #expect(machine.state == state)
    return machine
  }

  static let inputs: [Machine.Input] = [
    .start, .initial(revision: 9, token: "nine"), .change(revision: 9, token: "nine"),
    .alive(since: "seven", revision: 7, token: "other"), .status(failed), .broken(lost),
    .invalid(lost), .lasted, .refused(lost), .ended(lost), .mismatch(lost), .retry, .stop,
  ]

  /// What a machine with contents does: the next state, the actions, and the token afterward.
  struct Cell {
    var state: Machine.State
    var actions: [Machine.Action] = []
    var token: String? = "seven"
  }

  static let broken = [
    Machine.Action.disconnect, .show(.failed(lost)), .pause(failures: 1),
  ]
  static let brokenAgain = [
    Machine.Action.disconnect, .show(.failed(lost)), .pause(failures: 2),
  ]

  static let unanswered = [
    Machine.Action.disconnect,
    .show(
      .failed(
        SourceError(
          code: "disconnected",
          message: "list: the server did not answer the request"))),
    .pause(failures: 2),
  ]

  static func expected(_ state: Machine.State, _ input: Machine.Input) -> Cell {
    switch (state, input) {
    case (.idle, .start):
      Cell(state: .connecting, actions: [.show(.loading), .connect(since: nil)], token: nil)
    case (.idle, .stop): Cell(state: .stopped, token: nil)
    case (.idle, _): Cell(state: .idle, token: nil)

    case (.connecting, .initial):
      Cell(state: .live, actions: [.awaitSuccess, .publish(.loaded)], token: "nine")
    case (.live, .initial), (.live, .change):
      Cell(state: .live, actions: [.publish(.loaded)], token: "nine")
    case (.connecting, .alive):
      Cell(state: .live, actions: [.awaitSuccess, .show(.loaded)], token: "other")
    case (.connecting, .broken), (.connecting, .refused):
      Cell(state: .pausing, actions: brokenAgain)
    case (.connecting, .ended), (.live, .ended):
      Cell(state: .stopped, actions: [.disconnect, .show(.failed(lost))])
    case (.connecting, .invalid), (.connecting, .mismatch):
      Cell(state: .pausing, actions: brokenAgain, token: nil)
    case (.connecting, .stop), (.live, .stop): Cell(state: .stopped, actions: [.disconnect])
    case (.connecting, .change): Cell(state: .pausing, actions: unanswered, token: nil)
    case (.connecting, .status): Cell(state: .connecting, actions: [.show(failed)])
    case (.connecting, .start), (.connecting, .lasted), (.connecting, .retry):
      Cell(state: .connecting)

    case (.live, .status): Cell(state: .live, actions: [.show(failed)])
    case (.live, .broken):
      Cell(state: .pausing, actions: [.disconnect, .pause(failures: 1)])
    case (.live, .invalid), (.live, .refused):
      Cell(state: .pausing, actions: broken)
    case (.live, .mismatch): Cell(state: .pausing, actions: broken, token: nil)
    case (.live, .start), (.live, .alive), (.live, .lasted), (.live, .retry): Cell(state: .live)

    case (.pausing, .retry):
      Cell(state: .connecting, actions: [.connect(since: "seven")])
    case (.pausing, .stop): Cell(state: .stopped)
    case (.pausing, _): Cell(state: .pausing)

    case (.stopped, _): Cell(state: .stopped)
    }
  }

  @Test(arguments: Machine.State.allCases, inputs)
  func `each state has an answer to each input`(
    state: Machine.State, input: Machine.Input
  ) {
    var machine = Self.machine(state, hasContents: true)
    let cell = Self.expected(state, input)
    #expect(machine.handle(input) == cell.actions)
    #expect(machine.state == cell.state)
    #expect(machine.token == cell.token)
  }

  @Test func `the first connection has no token, and shows a failure of the source`() {
    var machine = Self.machine(.connecting, hasContents: false)
    #expect(machine.handle(.status(.loading)) == [])
    #expect(machine.handle(.status(Self.failed)) == [.show(Self.failed)])
    #expect(machine.handle(.refused(Self.lost)) == Self.broken)
    #expect(machine.handle(.retry) == [.connect(since: nil)])
  }

  @Test func `a stream that ends is continued without a change of the status, unless that fails`() {
    let silent = [Machine.Action.disconnect, .pause(failures: 1)]
    var machine = Self.machine(.live, hasContents: true)
    for _ in 0..<3 {
      #expect(machine.handle(.broken(Self.lost)) == silent)
      #expect(machine.handle(.retry) == [.connect(since: "seven")])
      _ = machine.handle(.alive(since: "seven", revision: 7, token: "seven"))
      _ = machine.handle(.lasted)
    }
    // A stream that ends soon again.
    _ = machine.handle(.broken(Self.lost))
    _ = machine.handle(.retry)
    _ = machine.handle(.alive(since: "seven", revision: 7, token: "seven"))
    #expect(machine.handle(.broken(Self.lost)) == Self.brokenAgain)
    // The attempt fails.
    for failure in [Machine.Input.broken(Self.lost), .refused(Self.lost)] {
      var machine = Self.machine(.live, hasContents: true)
      _ = machine.handle(.broken(Self.lost))
      _ = machine.handle(.retry)
      #expect(machine.handle(failure) == Self.brokenAgain)
    }
    // The server asks for a long pause.
    var late = Self.machine(.live, hasContents: true)
    #expect(
      late.handle(.broken(Self.lost, after: .seconds(6)))
        == [.disconnect, .show(.failed(Self.lost)), .pause(failures: 1, after: .seconds(6))])
  }

  @Test func `the time that a server asks for is part of the pause`() {
    for input in [
      Machine.Input.broken(Self.lost, after: .seconds(5)), .refused(Self.lost, after: .seconds(5)),
    ] {
      for state in [Machine.State.connecting, .live] {
        var machine = Self.machine(state, hasContents: true)
        let failures = state == .live ? 1 : 2
        #expect(machine.handle(input).last == .pause(failures: failures, after: .seconds(5)))
      }
    }
  }

  @Test func `before the first contents, connections may break a few times`() {
    var machine = Self.machine(.connecting, hasContents: false)
    for failures in 1...4 {
      #expect(machine.handle(.broken(Self.lost)) == [.disconnect, .pause(failures: failures)])
      _ = machine.handle(.retry)
    }
    #expect(
      machine.handle(.broken(Self.lost))
        == [.disconnect, .show(.failed(Self.lost)), .pause(failures: 5)])
  }

  @Test func `before the first contents, a pause that the server asks for is shown`() {
    var machine = Self.machine(.connecting, hasContents: false)
    #expect(
      machine.handle(.broken(Self.lost, after: .seconds(5)))
        == [
          .disconnect, .show(.failed(Self.lost)), .pause(failures: 1, after: .seconds(5)),
        ])
  }

  @Test(arguments: [400, 409, 410, 412, 422, 431, 404, 503])
  func `a token that the server rejects is not sent again`(status: Int) {
    var machine = Self.machine(.connecting, hasContents: true)
    let failure = TransportError("no", statusCode: status)
    let error = SourceError(code: "disconnected", message: "no", underlying: failure)
    _ = machine.handle(.refused(error))
    let isKept = [404, 503].contains(status)
    #expect(machine.handle(.retry) == [.connect(since: isKept ? "seven" : nil)])
  }

  @Test func `a token is given up if a server that is reached does not answer it several times`() {
    var failure = TransportError("no")
    for isUnreachable in [false, true] {
      failure.isAtConnecting = isUnreachable
      let error = SourceError(code: "disconnected", message: "no", underlying: failure)
      for input in [Machine.Input.refused(error), .broken(error)] {
        var machine = Self.machine(.connecting, hasContents: true)
        for _ in 1...3 {
          _ = machine.handle(input)
          #expect(machine.handle(.retry) == [.connect(since: "seven")])
        }
        _ = machine.handle(input)
        #expect(machine.handle(.retry) == [.connect(since: isUnreachable ? "seven" : nil)])
      }
    }
  }

  @Test func `a server that confirms contents that the client does not have is left`() {
    var machine = Self.machine(.connecting, hasContents: false)
    let actions = machine.handle(.alive(since: nil, revision: 7, token: "seven"))
    #expect(actions == [.disconnect, .pause(failures: 1)])
    #expect(machine.token == nil)
  }

  @Test func `a confirmation of another revision shows that a change was lost`() {
    var machine = Self.machine(.live, hasContents: true)
    #expect(machine.handle(.alive(since: nil, revision: 8, token: "eight")).first == .disconnect)
    #expect(machine.state == .pausing)
    #expect(machine.handle(.retry) == [.connect(since: "seven")])
  }

  @Test func `a sign of life does not answer the request of a client that resumes`() {
    var machine = Self.machine(.connecting, hasContents: true)
    let actions = machine.handle(.alive(since: nil, revision: 8, token: "eight"))
    #expect(actions.first == .disconnect)
    #expect(machine.token == nil)
  }

  @Test(arguments: [6, 7])
  func `contents of an earlier revision on the same connection are refused`(revision: Int) {
    var machine = Self.machine(.live, hasContents: true)
    #expect(machine.handle(.initial(revision: revision, token: "old")).first == .disconnect)
    #expect(machine.state == .pausing)
    #expect(machine.token == "seven")
  }

  @Test func `a server that has started again has lower revisions`() {
    var machine = Self.machine(.connecting, hasContents: true)
    #expect(
      machine.handle(.initial(revision: 1, token: "one")) == [.awaitSuccess, .publish(.loaded)])
    #expect(machine.revision == 1)
  }

  @Test func `a status that the server reports stays with the following changes`() {
    var machine = Self.machine(.live, hasContents: true)
    _ = machine.handle(.status(Self.failed))
    #expect(machine.handle(.change(revision: 8, token: "eight")) == [.publish(Self.failed)])
    _ = machine.handle(.broken(Self.lost))
    _ = machine.handle(.retry)
    let answer = Machine.Input.alive(since: "eight", revision: 8, token: "eight")
    #expect(machine.handle(answer) == [.awaitSuccess, .show(.loaded)])
  }

  @Test func `a failure of the source comes with the contents, or with the answer`() {
    var machine = Self.machine(.connecting, hasContents: false)
    let contents = Machine.Input.initial(revision: 7, token: "seven", failure: Self.failed)
    #expect(machine.handle(contents) == [.awaitSuccess, .publish(Self.failed)])
    #expect(machine.handle(.change(revision: 8, token: "eight")) == [.publish(Self.failed)])
    #expect(machine.handle(.initial(revision: 9, token: "nine")) == [.publish(.loaded)])
    _ = machine.handle(.broken(Self.lost))
    _ = machine.handle(.retry)
    let answer = Machine.Input.alive(
      since: "nine", revision: 9, token: "nine", failure: Self.failed)
    #expect(machine.handle(answer) == [.awaitSuccess, .show(Self.failed)])
    #expect(machine.handle(.status(.loaded)) == [.show(.loaded)])
    #expect(
      machine.handle(.initial(revision: 10, token: "ten", failure: Self.failed))
        == [.publish(Self.failed)])
  }

  @Test func `failures are counted until a connection has lasted, whatever the server sends`() {
    var machine = Self.machine(.connecting, hasContents: false)
    for failures in 1...5 {
      #expect(machine.handle(.broken(Self.lost)).last == .pause(failures: failures))
      _ = machine.handle(.retry)
    }
    for (failures, input) in zip(
      6...,
      [
        Machine.Input.broken(Self.lost), .invalid(Self.lost), .refused(Self.lost),
        .mismatch(Self.lost),
      ])
    {
      _ = machine.handle(.lasted)
      _ = machine.handle(.initial(revision: 1, token: "one"))
      _ = machine.handle(.alive(since: nil, revision: 1, token: "one"))
      _ = machine.handle(.change(revision: 2, token: "two"))
      #expect(machine.handle(input).last == .pause(failures: failures))
      _ = machine.handle(.retry)
    }
    _ = machine.handle(.initial(revision: 1, token: "one"))
    #expect(machine.handle(.lasted) == [])
    #expect(machine.handle(.broken(Self.lost)).last == .pause(failures: 1))
  }
}
