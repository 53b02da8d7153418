import Foundation
import Swappable
import Synchronizers
import TestSupport
import Testing

/// Tests of the code in the guide "Ask the user about conflicts".
@Suite(.timeLimit(.minutes(10))) struct AskingTheUserGuideTests {
  struct Note: Codable, Hashable, Identifiable, Sendable, Differentiable {
    let id: Int
    var text: String
  }

  @MainActor
  final class ConflictQuestion {
    typealias Conflict = MergeConflict<Note>

    /// The conflict to show, or `nil` if there is no question.
    let open = Property<Conflict?>(nil)
    private var waiting: CheckedContinuation<Conflict.Resolution, any Error>?

    /// Shows a conflict, and waits for the answer.
    func ask(_ conflict: Conflict) async throws -> Conflict.Resolution {
      defer { open.value = nil }
      return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
          if Task.isCancelled { return continuation.resume(throwing: CancellationError()) }
          waiting = continuation
          open.value = conflict
        }
      } onCancel: {
        Task { @MainActor in self.finish(.failure(CancellationError())) }
      }
    }

    /// Answers the question. A view calls it, for example when a button is pressed.
    func answer(_ resolution: Conflict.Resolution) { finish(.success(resolution)) }

    /// Closes the question without an answer.
    func dismiss() { finish(.failure(NoAnswer())) }

    private func finish(_ result: Result<Conflict.Resolution, any Error>) {
      waiting?.resume(with: result)
      waiting = nil
    }
  }

  struct NoAnswer: Error {}

  @Test func `the code of the guide is the code that runs here`() throws {
    let guide = try Guide("AskingTheUser")
    #expect(guide.code.count == 3)
    #expect(try guide.paragraphs(missingIn: #filePath) == [])
  }

  /// Waits for the question, and returns its conflict.
  @MainActor
  private func shown(_ question: ConflictQuestion) async throws -> MergeConflict<Note> {
    for await conflict in question.open.values() { if let conflict { return conflict } }
    throw NoAnswer()
  }

  @MainActor
  @Test func `a view answers the question of a session`() async throws {
    let server = InMemoryRemote([Note(id: 1, text: "tea")])
    let question = ConflictQuestion()
    let options = SynchronizationSession<InMemoryRemote<Note>>.Options { conflict in
      if conflict.kind == .moved { return .theirs }
      return try await question.ask(conflict)
    }
    let session = SynchronizationSession(remote: server, options: options)
    try await session.synchronize()
    session.client[0].text = "green tea"
    server.contents[0].text = "black tea"
    let outcome = Task { try await session.synchronize() }
    let conflict = try await shown(question)
    #expect(conflict.mine?.text == "green tea" && conflict.theirs?.text == "black tea")
    session.client.append(Note(id: 2, text: "milk"))
    question.answer(.mine)
    #expect(try await outcome.value.conflicts.count == 1)
    #expect(question.open.value == nil)
    #expect(server.contents.snapshot.map(\.text) == ["green tea"])

    server.contents[0].text = "white tea"
    session.client[0].text = "no tea"
    let dismissed = Task { try await session.synchronize() }
    _ = try await shown(question)
    question.dismiss()
    await #expect(throws: SynchronizationError.self) { try await dismissed.value }
    let canceled = Task { try await session.synchronize() }
    _ = try await shown(question)
    session.cancel()
    await #expect(throws: SynchronizationError.self) { try await canceled.value }
    #expect(question.open.value == nil)
    #expect(session.client.snapshot.map(\.text) == ["no tea", "milk"])
  }
}
