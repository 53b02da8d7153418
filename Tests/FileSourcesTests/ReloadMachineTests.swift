import FileWatching
import ObservableCollections
import Testing

@testable import FileSources

@Suite struct ReloadMachineTests {
  typealias Machine = ReloadMachine

  private func trouble(
    _ code: String, isTransient: Bool = true, needsRetry: Bool = false
  ) -> Machine.Trouble {
    Machine.Trouble(
      state: .failed(SourceError(code: code, message: code)), isTransient: isTransient,
      needsRetry: needsRetry)
  }

  private func ticket(_ actions: [Machine.Action]) throws -> Machine.Ticket {
    guard case .schedule(let ticket, _) = try #require(actions.last) else {
      throw EndOfLog()
    }
    return ticket
  }

  @Test func completeSavesAreReadAtOnce() {
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
    // That something may have been missed does not say that the writer is done.
    #expect(machine.isBeingWritten)
  }

  @Test func writesAreReadAfterQuiet() throws {
    var machine = Machine(timing: Machine.Timing())
    let first = machine.fileChanged(.modified)
    #expect(try first == [.schedule(ticket(first), .milliseconds(20))])
    let second = machine.fileChanged(.modified)
    // Only the newest counts.
    #expect(try machine.timerFired(ticket(first)) == [])
    #expect(try machine.timerFired(ticket(second)) == [.read])
    #expect(try machine.timerFired(ticket(second)) == [])
    let third = machine.fileChanged(.created)
    #expect(machine.fileChanged(.written) == [.read])
    #expect(try machine.timerFired(ticket(third)) == [])
  }

  @Test func writerWithoutPauseIsReadSometimes() {
    var machine = Machine(timing: Machine.Timing())
    var delays = 0
    while machine.fileChanged(.modified) != [.read] { delays += 1 }
    #expect(delays == 50)
    #expect(machine.fileChanged(.modified) != [.read])
  }

  @Test func troubleIsShownAfterItsGraceAndOnce() throws {
    var machine = Machine(timing: Machine.Timing())
    machine.readSucceeded()
    let first = machine.readFailed(trouble("a"))
    #expect(try first == [.schedule(ticket(first), .milliseconds(250))])
    // Another fault of the same save changes nothing.
    #expect(machine.readFailed(trouble("b")) == [])
    #expect(try machine.timerFired(ticket(first)) == [.read])
    #expect(machine.readFailed(trouble("b")) == [.show(trouble("b").state)])
    #expect(machine.readFailed(trouble("b")) == [])
    // The next fault has a grace of its own.
    let next = machine.readFailed(trouble("c"))
    #expect(try machine.timerFired(ticket(next)) == [.read])
    #expect(machine.readFailed(trouble("c")) == [.show(trouble("c").state)])
  }

  @Test func successEndsTheGrace() throws {
    var machine = Machine(timing: Machine.Timing())
    machine.readSucceeded()
    let first = machine.readFailed(trouble("a"))
    machine.readSucceeded()
    #expect(try machine.timerFired(ticket(first)) == [])
  }

  @Test func slowWriterProlongsTheGraceButNotForEver() throws {
    var machine = Machine(timing: Machine.Timing())
    machine.readSucceeded()
    var ticket = try ticket(machine.readFailed(trouble("a")))
    for _ in 0..<50 {
      let quiet = machine.fileChanged(.modified)
      #expect(try machine.timerFired(self.ticket(quiet)) == [.read])
      let next = try self.ticket(machine.readFailed(trouble("a")))
      #expect(machine.timerFired(ticket) == [])
      ticket = next
    }
    let quiet = machine.fileChanged(.modified)
    #expect(try machine.timerFired(self.ticket(quiet)) == [.read])
    #expect(machine.readFailed(trouble("a")) == [])
    #expect(machine.timerFired(ticket) == [.read])
  }

  @Test func lastingTroubleIsShownAtOnceAtTheStartOnly() throws {
    var machine = Machine(timing: Machine.Timing())
    let missing = trouble("missing", isTransient: false)
    #expect(machine.readFailed(missing) == [.show(missing.state)])
    machine.readSucceeded()
    #expect(machine.readFailed(missing).count == 1)
    var other = Machine(timing: Machine.Timing())
    let malformed = other.readFailed(trouble("malformed"))
    #expect(try malformed == [.schedule(ticket(malformed), .milliseconds(250))])
  }

  @Test func whatMayPassByItselfIsRetried() throws {
    var machine = Machine(timing: Machine.Timing())
    let limit = trouble("limit", isTransient: false, needsRetry: true)
    let shown = machine.readFailed(limit)
    #expect(try shown == [.show(limit.state), .schedule(ticket(shown), .seconds(1))])
    #expect(try machine.timerFired(ticket(shown)) == [.read])
    let again = machine.readFailed(limit)
    #expect(try again == [.schedule(ticket(again), .seconds(1))])
  }
}
