import FileWatching
import ObservableCollections
import Testing

@testable import FileSources

@Suite struct ReloadMachineTests {
  typealias Machine = ReloadMachine

  private func failure(
    _ code: String, isTransient: Bool = true, needsRetry: Bool = false
  ) -> ReadFailure {
    ReadFailure(
      state: .failed(SourceError(code: code, message: code)), isTransient: isTransient,
      needsRetry: needsRetry)
  }

  private func token(_ actions: [Machine.Action]) throws -> Machine.TimerToken {
    guard case .schedule(let token, _) = try #require(actions.last) else {
      throw EndOfLog()
    }
    return token
  }

  @Test func `complete saves are read immediately`() {
    var machine = Machine(timing: Machine.Timing())
    #expect(machine.read() == [.read])
    machine.readSucceeded()
    #expect(machine.fileChanged(.written) == [.read])
    #expect(machine.fileChanged(.replaced) == [.read])
    #expect(machine.fileChanged(.removed) == [.read])
    #expect(machine.fileChanged(.touched) == [.read])
    #expect(machine.fileChanged(.check) == [.read])
    _ = machine.fileChanged(.modified)
    #expect(machine.fileChanged(.check) == [.read])
    // After a check, the writer may continue.
    #expect(machine.isBeingWritten)
  }

  @Test func `writes are read after a pause`() throws {
    var machine = Machine(timing: Machine.Timing())
    let first = machine.fileChanged(.modified)
    #expect(try first == [.schedule(token(first), .milliseconds(20))])
    let second = machine.fileChanged(.modified)
    // Only the newest timer counts.
    #expect(try machine.timerFired(token(first)) == [])
    #expect(try machine.timerFired(token(second)) == [.read])
    #expect(try machine.timerFired(token(second)) == [])
    let third = machine.fileChanged(.created)
    #expect(machine.fileChanged(.written) == [.read])
    #expect(try machine.timerFired(token(third)) == [])
  }

  @Test func `lines that are appended are read immediately`() throws {
    var machine = Machine(timing: Machine.Timing())
    machine.readSucceeded()
    #expect(machine.fileChanged(.modified, hasGrown: true) == [.read])
    #expect(machine.isBeingWritten)
    let pause = machine.fileChanged(.modified)
    #expect(machine.fileChanged(.modified, hasGrown: true) == [.read])
    #expect(try machine.timerFired(token(pause)) == [])
  }

  @Test func `a writer that never pauses is read now and then`() {
    var machine = Machine(timing: Machine.Timing())
    var delays = 0
    while machine.fileChanged(.modified) != [.read] { delays += 1 }
    #expect(delays == 50)
    #expect(machine.fileChanged(.modified) != [.read])
  }

  @Test func `a failure is shown once, after its grace period`() throws {
    var machine = Machine(timing: Machine.Timing())
    machine.readSucceeded()
    let first = machine.readFailed(failure("a"))
    #expect(try first == [.schedule(token(first), .milliseconds(250))])
    // Another failure of the same save changes nothing.
    #expect(machine.readFailed(failure("b")) == [])
    #expect(try machine.timerFired(token(first)) == [.read])
    #expect(machine.readFailed(failure("b")) == [.show(failure("b").state)])
    #expect(machine.readFailed(failure("b")) == [])
    // The next failure has its own grace period.
    let next = machine.readFailed(failure("c"))
    #expect(try machine.timerFired(token(next)) == [.read])
    #expect(machine.readFailed(failure("c")) == [.show(failure("c").state)])
  }

  @Test func `a success ends the grace period`() throws {
    var machine = Machine(timing: Machine.Timing())
    machine.readSucceeded()
    let first = machine.readFailed(failure("a"))
    machine.readSucceeded()
    #expect(try machine.timerFired(token(first)) == [])
  }

  @Test func `a slow writer extends the grace period, but not forever`() throws {
    var machine = Machine(timing: Machine.Timing())
    machine.readSucceeded()
    var token = try token(machine.readFailed(failure("a")))
    for _ in 0..<50 {
      let quiet = machine.fileChanged(.modified)
      #expect(try machine.timerFired(self.token(quiet)) == [.read])
      let next = try self.token(machine.readFailed(failure("a")))
      #expect(machine.timerFired(token) == [])
      token = next
    }
    let quiet = machine.fileChanged(.modified)
    #expect(try machine.timerFired(self.token(quiet)) == [.read])
    #expect(machine.readFailed(failure("a")) == [])
    #expect(machine.timerFired(token) == [.read])
  }

  @Test func `a lasting failure is shown immediately only at the start`() throws {
    var machine = Machine(timing: Machine.Timing())
    let missing = failure("missing", isTransient: false)
    #expect(machine.readFailed(missing) == [.show(missing.state)])
    machine.readSucceeded()
    #expect(machine.readFailed(missing).count == 1)
    var other = Machine(timing: Machine.Timing())
    let malformed = other.readFailed(failure("malformed"))
    #expect(try malformed == [.schedule(token(malformed), .milliseconds(250))])
  }

  @Test func `a failure that may end by itself is retried`() throws {
    var machine = Machine(timing: Machine.Timing())
    let limit = failure("limit", isTransient: false, needsRetry: true)
    let shown = machine.readFailed(limit)
    #expect(try shown == [.show(limit.state), .schedule(token(shown), .seconds(1))])
    #expect(try machine.timerFired(token(shown)) == [.read])
    let again = machine.readFailed(limit)
    #expect(try again == [.schedule(token(again), .seconds(1))])
  }
}
