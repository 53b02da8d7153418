import Diffing
import ObservableCollections
import ReactiveSignals
import Synchronizers
import TestSupport
import TestTags
import Testing

/// Sessions whose conflicts a person decides.
@Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct AskingResolverTests {
  private typealias Session = SynchronizationSession<InMemoryRemote<Letter>>
  private typealias Conflict = MergeConflict<Letter>

  struct NoAnswer: Error {}

  /// The conflicts that were asked about, and the answers to come.
  private final class Person: Sendable {
    private let questions: AsyncStream<Conflict>
    private let question: AsyncStream<Conflict>.Continuation
    private let answers: AsyncStream<Result<Conflict.Resolution, NoAnswer>>
    private let answer: AsyncStream<Result<Conflict.Resolution, NoAnswer>>.Continuation
    let wasCanceled = Signpost()

    init() {
      (questions, question) = AsyncStream.makeStream()
      (answers, answer) = AsyncStream.makeStream()
    }

    func resolve(_ conflict: Conflict) async throws -> Conflict.Resolution {
      question.yield(conflict)
      for await answer in answers { return try answer.get() }
      wasCanceled.open()
      throw CancellationError()
    }

    /// Waits for the next question.
    func isAsked() async throws -> Conflict {
      for await conflict in questions { return conflict }
      throw NoAnswer()
    }

    func answers(_ resolution: Conflict.Resolution) { answer.yield(.success(resolution)) }
    func dismisses() { answer.yield(.failure(NoAnswer())) }
  }

  private let person = Person()
  private let remote = InMemoryRemote(Letter.list("A B C"))

  /// Creates a session that is in step, and then edits one element on both sides.
  private func sessionInConflict() async throws -> Session {
    let session = Session(
      remote: remote,
      options: Session.Options { [person] conflict in try await person.resolve(conflict) })
    try await session.synchronize()
    session.client.replace(with: Letter.list("A1 B C"))
    remote.contents.replace(with: Letter.list("A2 B C"))
    return session
  }

  private func code(of task: Task<Session.Outcome, any Error>) async -> SynchronizationError.Code? {
    do {
      _ = try await task.value
      return nil
    } catch {
      return (error as? SynchronizationError)?.code
    }
  }

  @Test func `edits go on while a person decides`() async throws {
    let session = try await sessionInConflict()
    let outcome = Task { try await session.synchronize() }
    let conflict = try await person.isAsked()
    #expect(conflict.kind == .edited)
    #expect(conflict.base?.content == "" && conflict.mine?.content == "1")
    #expect(conflict.theirs?.content == "2")
    #expect(session.status.value == .synchronizing(.merging))
    session.client.append(Letter(key: "D", content: "4"))
    person.answers(.merged(Letter(key: "A", content: "3")))
    #expect(try await outcome.value.conflicts.count == 1)
    #expect(session.client.snapshot.text == "A3 B C D4")
    #expect(remote.contents.snapshot.text == "A3 B C")
    try await session.synchronize()
    #expect(remote.contents.snapshot.text == "A3 B C D4")
  }

  @Test func `an edit of the element in question wins over the answer`() async throws {
    let session = try await sessionInConflict()
    let outcome = Task { try await session.synchronize() }
    _ = try await person.isAsked()
    session.client[0] = Letter(key: "A", content: "9")
    person.answers(.theirs)
    #expect(try await outcome.value.conflicts.count == 2)
    #expect(session.client.snapshot.text == "A9 B C")
    try await session.synchronize()
    #expect(remote.contents.snapshot.text == "A9 B C")
  }

  @Test func `a person is asked again only about a conflict that has changed`() async throws {
    let session = try await sessionInConflict()
    let outcome = Task { try await session.synchronize() }
    _ = try await person.isAsked()
    remote.contents.replace(with: Letter.list("A2 B7 C"))
    person.answers(.mine)
    // The push is outdated, and the known answer holds.
    #expect(try await outcome.value.repeatedMerges == 1)
    #expect(remote.contents.snapshot.text == "A1 B7 C")

    session.client.replace(with: Letter.list("A3 B7 C"))
    remote.contents.replace(with: Letter.list("A4 B7 C"))
    let other = Task { try await session.synchronize() }
    #expect(try await person.isAsked().theirs?.content == "4")
    remote.contents.replace(with: Letter.list("A5 B7 C"))
    person.answers(.mine)
    #expect(try await person.isAsked().theirs?.content == "5")
    person.answers(.theirs)
    _ = try await other.value
    #expect(remote.contents.snapshot.text == "A5 B7 C")
    #expect(session.client.snapshot.text == "A5 B7 C")
  }

  @Test func `without an answer nothing changes and the next synchronization asks again`()
    async throws
  {
    let session = try await sessionInConflict()
    let failed = Task { try await session.synchronize() }
    _ = try await person.isAsked()
    person.dismisses()
    #expect(await code(of: failed) == .unresolved)
    #expect(session.client.snapshot.text == "A1 B C")
    #expect(remote.contents.snapshot.text == "A2 B C")
    #expect(session.status.value == .idle)
    let next = Task { try await session.synchronize() }
    #expect(try await person.isAsked().mine?.content == "1")
    person.answers(.mine)
    _ = try await next.value
    #expect(remote.contents.snapshot.text == "A1 B C")
  }

  @Test func `a cancellation ends the question`() async throws {
    let session = try await sessionInConflict()
    let canceled = Task { try await session.synchronize() }
    _ = try await person.isAsked()
    session.cancel()
    #expect(await code(of: canceled) == .cancelled)
    try await Task.detached { [person] in try Worker.run { person.wasCanceled.pass() } }.value
    #expect(session.client.snapshot.text == "A1 B C")
    #expect(remote.contents.snapshot.text == "A2 B C")
  }

  @Test func `the release of a session ends the question`() async throws {
    let (person, remote) = (person, remote)
    try await {
      let session = try await sessionInConflict()
      let caller = Task { try await session.synchronize() }
      _ = try await person.isAsked()
      // A waiting caller keeps the session.
      caller.cancel()
      await #expect(throws: CancellationError.self) { try await caller.value }
    }()
    try await Task.detached { try Worker.run { person.wasCanceled.pass() } }.value
    #expect(remote.contents.snapshot.text == "A2 B C")
  }

  @Test func `contents that differ from themselves are asked about once`() async throws {
    struct Reading: Differentiable, Hashable {
      let id: Int
      var value: Double
      var differenceIdentifier: Int { id }
    }
    let remote = InMemoryRemote([Reading(id: 1, value: 0)])
    let questions = Log<Int>()
    let session = SynchronizationSession(
      remote: remote,
      options: .init { conflict in
        questions.append(1)
        if questions.value.count > 1 { throw NoAnswer() }
        return .mine
      })
    try await session.synchronize()
    session.client.replace(with: [Reading(id: 1, value: .nan)])
    remote.contents.replace(with: [Reading(id: 1, value: 2)])
    try await session.synchronize()
    #expect(questions.value.count == 1)
    #expect(remote.contents.snapshot.map(\.value.isNaN) == [true])
  }

  @Test func `each of several conflicts is asked about once`() async throws {
    let session = try await sessionInConflict()
    session.client.replace(with: Letter.list("A1 B1 C1"))
    remote.contents.replace(with: Letter.list("A2 B2 C2"))
    let outcome = Task { try await session.synchronize() }
    var asked = ""
    for resolution in [Conflict.Resolution.mine, .theirs, .mine] {
      asked += try await person.isAsked().mine?.description ?? "-"
      person.answers(resolution)
    }
    #expect(asked == "A1B1C1")
    #expect(try await outcome.value.conflicts.count == 3)
    #expect(remote.contents.snapshot.text == "A1 B2 C1")
  }
}
