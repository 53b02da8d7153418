import Foundation
import TestSupport
import Testing

/// Pages of the tour and demos that tell a story: each prints what it should, each time.
@Suite struct TourTests {
  private static let expected: [(program: String, text: String)] = [
    (
      "DifferentialSynchronization",
      """
      merged: [b: Rye bread, a: Oat milk]
      I change: 1 updated, 1 moved
      they change: 1 updated
      disputed: [a: Oat milk or Goat's milk]
      the laptop is told: 1 updated
      the laptop is told: 1 inserted, 1 moved
      the laptop sends: 1 updated
      phone:  [b: Rye bread, a: Milk, c: Honey]
      laptop: [b: Rye bread, a: Milk, c: Honey]
      server: [b: Rye bread, a: Milk, c: Honey]
      long ones: [b: Rye bread]

      """
    ),
    (
      "OneWaySynchronization",
      """
      told: 2 inserted
      here: [Autumn, Winter]
      told: 1 inserted, 1 deleted, 1 updated
      removed 1, new 1, outdated 1
      here: [Spring, Late winter]
      begin
      remove [3]
      download Number 6
      download Number 5
      end
      2 downloaded, 0 failed

      """
    ),
    (
      "SyncDemo",
      """
      Ada and Grace share a shopping list that a server keeps. Each fetches it.
        Ada gets 3 inserted
        Grace gets 3 inserted

          Ada           server        Grace
          Apples 4      Apples 4      Apples 4
          Bread 1       Bread 1       Bread 1
          Coffee 2      Coffee 2      Coffee 2

      Both edit at the same time: Ada wants more apples, and tea. Grace puts the coffee first,
      and strikes out the bread. Ada is through between Grace's fetch and her push.
        Grace gets 1 inserted, 1 updated, sends 1 deleted, 1 moved, having merged again
        Ada gets 1 deleted, 1 moved

          Ada           server        Grace
          Coffee 2      Coffee 2      Coffee 2
          Apples 6      Apples 6      Apples 6
          Tea 1         Tea 1         Tea 1

      Ada takes a train, without network. She goes on editing; so does Grace, at home.
        Ada cannot synchronise: the server could not be read: there is no network; nothing was \
      changed: synchronise again when it can be reached
        Grace sends 1 updated

          Ada           server        Grace
          Coffee 3      Coffee 5      Coffee 5
          Milk 2        Apples 6      Apples 6
          Apples 6      Tea 1         Tea 1

      Her battery dies. With a new one the program is started again, and knows all of it.
      Ada's list: Coffee 3, Milk 2, Apples 6

      The train arrives. Both have edited the coffee: what the server has holds.
        Ada gets 1 updated, sends 1 inserted, 1 deleted, conflict: mine Coffee 3, the server's \
      Coffee 5
        Grace gets 1 inserted, 1 deleted

          Ada           server        Grace
          Coffee 5      Coffee 5      Coffee 5
          Milk 2        Milk 2        Milk 2
          Apples 6      Apples 6      Apples 6

      Grace adds honey. The server gets it, but the line goes dead before it has answered, and
      her program ends. Ada gets the honey, and strikes it out, as there is some left.
        Grace cannot synchronise: the server has not answered a push: the line went dead; the \
      next synchronisation repeats it: synchronise again when it can be reached
        Ada gets 1 inserted
        Ada sends 1 deleted

          Ada           server        Grace
          Coffee 5      Coffee 5      Coffee 5
          Milk 2        Milk 2        Milk 2
          Apples 6      Apples 6      Apples 6
                                      Honey 1

      Grace is back. Her push is known, so that the honey does not come back.
        Grace gets 1 deleted

          Ada           server        Grace
          Coffee 5      Coffee 5      Coffee 5
          Milk 2        Milk 2        Milk 2
          Apples 6      Apples 6      Apples 6

      All three hold the same: Coffee 5, Milk 2, Apples 6

      """
    ),
  ]

  @Test(arguments: expected.map(\.program))
  func aPagePrintsWhatItShould(name: String) throws {
    for _ in 0..<3 {
      let directory = try TestDirectory()
      let output = Pipe()
      let program = try Program(
        name, input: .nullDevice, output: output.fileHandleForWriting, directory: directory.path)
      try output.fileHandleForWriting.close()
      let text = try output.fileHandleForReading.readToEnd() ?? Data()
      let expected = TourTests.expected.first { $0.program == name }?.text
      #expect(String(decoding: text, as: UTF8.self) == expected)
      #expect(try program.waitForEnd() == 0)
      #expect(try directory.names.isEmpty)
    }
  }
}
