import DemoSupport
import Swappable
import SynchronizerStores
import Synchronizers

/// Two people and a server, who edit one list at the same time, go offline, come back, and end equal.
struct Story {
  private let server: InMemoryRemote<Item>
  private var ada: Person
  private var grace: Person
  private let say: @Sendable (String) throws -> Void

  /// Begins with a list that only the server has.
  ///
  /// - Parameters:
  ///   - directory: Where the two keep what they must know when they are started again.
  ///   - say: Takes one line after the other.
  init(in directory: TemporaryDirectory, say: @escaping @Sendable (String) throws -> Void)
    async throws
  {
    let server = InMemoryRemote([Item("Apples", 4), Item("Bread", 1), Item("Coffee", 2)])
    self.server = server
    self.say = say
    // One is kept in a database, the other in a file.
    ada = try await Person(
      "Ada", Connection(to: server),
      SQLiteSynchronizationStore<Item, Int>(path: directory.path("ada.db"), name: "shopping"))
    grace = try await Person(
      "Grace", Connection(to: server),
      FileSynchronizationStore<Item, Int>(path: directory.path("grace.json")))
  }

  /// Tells it to its end.
  mutating func tell() async throws {
    try say("Ada and Grace share a shopping list that a server keeps. Each fetches it.")
    try await synchronize(ada)
    try await synchronize(grace)
    try show()

    try say(
      "Both edit at the same time: Ada wants more apples, and tea. Grace puts the coffee first,")
    try say("and strikes out the bread. Ada is through between Grace's fetch and her push.")
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

    try say("Ada takes a train, without network. She goes on editing; so does Grace, at home.")
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

    try say("Her battery dies. With a new one the program is started again, and knows all of it.")
    try await ada.restart()
    try say("Ada's list: \(text(of: ada.session.client.snapshot))")
    try say("")

    try say("The train arrives. Both have edited the coffee: what the server has holds.")
    ada.connection.set(.none)
    try await synchronize(ada)
    try await synchronize(grace)
    try show()

    try say(
      "Grace adds honey. The server gets it, but the line goes dead before it has answered, and")
    try say("her program ends. Ada gets the honey, and strikes it out, as there is some left.")
    try await grace.edit { $0.append(Item("Honey", 1)) }
    grace.connection.set(.losesAnswer)
    try await synchronize(grace)
    try await grace.restart()
    try await synchronize(ada)
    try await ada.edit { $0.remove(identifiedBy: "Honey") }
    try await synchronize(ada)
    try show()

    try say("Grace is back. Her push is known, so that the honey does not come back.")
    grace.connection.set(.none)
    try await synchronize(grace)
    try show()

    let lists = [ada.session.client, server.contents, grace.session.client].map(\.snapshot)
    guard lists.allSatisfy({ $0.hasSameContents(as: lists[0]) }) else {
      throw Connection.Failure(description: "the three lists differ at the end")
    }
    try say("All three hold the same: \(text(of: lists[0]))")
  }

  /// Synchronises, and tells what came of it.
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
      if outcome.repeatedMerges > 0 { parts.append("having merged again") }
      for conflict in outcome.conflicts {
        guard let mine = conflict.conflict.mine, let theirs = conflict.conflict.theirs else {
          continue
        }
        parts.append("conflict: mine \(mine), the server's \(theirs)")
      }
      try say(
        "  \(person.name) \(parts.isEmpty ? "has nothing to do" : parts.joined(separator: ", "))")
    } catch let error as SynchronizationError {
      try say("  \(person.name) cannot synchronise: \(error)")
    }
  }

  /// Shows the three lists side by side.
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
