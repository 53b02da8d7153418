import DemoSupport
import Swappable
import SynchronizerStores
import Synchronizers

/// A story of two people and a server. They edit one list at the same time and offline, and converge.
struct Story {
  private let server: InMemoryRemote<Item>
  private var ada: Person
  private var grace: Person
  private let say: @Sendable (String) throws -> Void

  /// Creates the story. At first, only the server has the list.
  ///
  /// - Parameters:
  ///   - directory: The directory for the stores of both people.
  ///   - say: Prints a line.
  init(in directory: TemporaryDirectory, say: @escaping @Sendable (String) throws -> Void)
    async throws
  {
    let server = InMemoryRemote([Item("Apples", 4), Item("Bread", 1), Item("Coffee", 2)])
    self.server = server
    self.say = say
    // Ada's store is a database, and Grace's store is a file.
    ada = try await Person(
      "Ada", Connection(to: server),
      SQLiteSynchronizationStore<Item, Int>(path: directory.path("ada.db"), name: "shopping"))
    grace = try await Person(
      "Grace", Connection(to: server),
      FileSynchronizationStore<Item, Int>(path: directory.path("grace.json")))
  }

  /// Tells the whole story.
  mutating func tell() async throws {
    try say("Ada and Grace share a shopping list on a server. Both fetch it.")
    try await synchronize(ada)
    try await synchronize(grace)
    try show()

    try say(
      "Both edit at the same time. Ada wants more apples, and tea. Grace moves the coffee to the")
    try say("top and removes the bread. Ada synchronizes between Grace's fetch and Grace's push.")
    try await ada.edit { draft in
      draft.update(identifiedBy: "Apples") { $0.count = 6 }
      draft.append(Item("Tea", 1))
    }
    try await grace.edit { draft in
      draft.move(from: 2, to: 0)
      draft.remove(identifiedBy: "Bread")
    }
    grace.connection.afterNextFetch { [session = ada.session] in try await session.synchronize() }
    try await synchronize(grace)
    try await synchronize(ada)
    try show()

    try say("Ada is on a train without a network. She edits offline. Grace edits at home.")
    ada.connection.set(.offline)
    try await ada.edit { draft in
      draft.update(identifiedBy: "Coffee") { $0.count = 3 }
      draft.insert(Item("Milk", 2), at: 1)
      draft.remove(identifiedBy: "Tea")
    }
    try await synchronize(ada)
    try await grace.edit { $0.update(identifiedBy: "Coffee") { $0.count = 5 } }
    try await synchronize(grace)
    try show()

    try say("Ada's battery dies. After the restart, her program still has all edits.")
    try await ada.restart()
    try say("Ada's list: \(text(of: ada.session.client.snapshot))")
    try say("")

    try say("The train arrives. Both have edited the coffee. The server's version wins.")
    ada.connection.set(.none)
    try await synchronize(ada)
    try await synchronize(grace)
    try show()

    try say(
      "Grace adds honey. The server receives it, but its answer is lost, and Grace's program ends.")
    try say("Ada receives the honey, and removes it again.")
    try await grace.edit { $0.append(Item("Honey", 1)) }
    grace.connection.set(.losesAnswer)
    try await synchronize(grace)
    try await grace.restart()
    try await synchronize(ada)
    try await ada.edit { $0.remove(identifiedBy: "Honey") }
    try await synchronize(ada)
    try show()

    try say("Grace is back. The server knows her push already, so the honey stays removed.")
    grace.connection.set(.none)
    try await synchronize(grace)
    try show()

    let lists = [ada.session.client, server.contents, grace.session.client].map(\.snapshot)
    guard lists.allSatisfy({ $0.hasSameContents(as: lists[0]) }) else {
      throw Connection.ConnectionError(description: "the three lists differ at the end")
    }
    try say("All three lists are equal: \(text(of: lists[0]))")
  }

  /// Synchronizes, and prints the outcome.
  private func synchronize(_ person: Person) async throws {
    do {
      let outcome = try await person.session.synchronize()
      var parts: [String] = []
      if !outcome.changesForClient.isEmpty {
        parts.append("gets \(outcome.changesForClient.summary)")
      }
      if !outcome.changesForRemote.isEmpty {
        parts.append("sends \(outcome.changesForRemote.summary)")
      }
      if outcome.repeatedMerges > 0 { parts.append("after a second merge") }
      for conflict in outcome.conflicts {
        guard let mine = conflict.conflict.mine, let theirs = conflict.conflict.theirs else {
          continue
        }
        parts.append("conflict: \(mine) here, \(theirs) on the server")
      }
      try say(
        "  \(person.name) \(parts.isEmpty ? "has no changes" : parts.joined(separator: ", "))")
    } catch let error as SynchronizationError {
      try say("  \(person.name) cannot synchronize: \(error)")
    }
  }

  /// Prints the three lists side by side.
  private func show() throws {
    let columns = [
      ("Ada", ada.session.client.snapshot), ("server", server.contents.snapshot),
      ("Grace", grace.session.client.snapshot),
    ]
    let height = columns.map(\.1.count).max() ?? 0
    func line(_ cells: [String]) -> String {
      let widths = [14, 14, 0]
      return "    "
        + zip(cells, widths).map { $0 + String(repeating: " ", count: max($1 - $0.count, 0)) }
        .joined()
    }
    try say("")
    try say(line(columns.map(\.0)))
    for row in 0..<height {
      try say(line(columns.map { row < $0.1.count ? "\($0.1[row])" : "" }))
    }
    try say("")
  }

  private func text(of list: Snapshot<Item>) -> String {
    list.map(\.description).joined(separator: ", ")
  }
}
