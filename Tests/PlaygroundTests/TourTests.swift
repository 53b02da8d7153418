import Foundation
import TestSupport
import Testing

/// Tests of the pages of the tour and of SyncDemo: each prints the expected text on every run.
@Suite struct TourTests {
  private static let expected: [(program: String, text: String)] = [
    (
      "Signals",
      """
      received 1
      another number: 2
      another number: 3
      3 squared is 9
      3 squared is 9
      first observer: 1
      second observer: 1
      first observer: 0
      second observer: 0
      all letters sent
      coalesce d
      bounded(2) a
      bounded(2) d
      everything a
      everything b
      everything c
      everything d
      all observations ended

      """
    ),
    (
      "Properties",
      """
      name: Ada
      name: Grace
      name: Grace Hopper
      letters: 12
      name: Katherine Johnson
      letters: 17
      name: katherine johnson
      count: 0
      count: 500
      count: 1000
      final count: 1000
      volume: 5
      volume: 14
      volume: 10
      volume: 3
      volume: 4
      shown: 4

      """
    ),
    (
      "Collections",
      """
      at first: [Earth (1), Mars (2)]
      1 inserted
      1 moved
      1 updated
      draft 4, list 3
      1 inserted, 1 updated
      still 4
      1 inserted, 3 moved
      ["Venus", "Mercury", "Jupiter", "Mars", "Earth", "Venus", "Mercury"]
      1 updated
      ["Mercury", "Jupiter", "Venus", "Mars", "Earth", "Mercury"]
      copy: [Mercury (0)]
      1 deleted
      deleted: [Jupiter (97)]

      """
    ),
    (
      "DerivedLists",
      """
      at first: [Dom, Elbrus, Mont Blanc, Monte Rosa]
      1 deleted -> [Dom, Mont Blanc, Monte Rosa]
      1 moved -> [Mont Blanc, Monte Rosa, Dom]
      2 moved -> [Dom, Monte Rosa, Mont Blanc]
      1 inserted -> [Weisshorn, Dom, Monte Rosa, Mont Blanc]
      2 inserted, 1 deleted, 2 moved -> [Eiger, Elbrus, Mont Blanc, Monte Rosa, Weisshorn]
        test Elbrus
        test Mont Blanc
        test Monte Rosa
        test Weisshorn
        test Eiger
      M: [Mont Blanc, Monte Rosa]
        test Mont Blanc
        test Monte Rosa
      Monte: [Monte Rosa]
        test Elbrus
        test Mont Blanc
        test Weisshorn
        test Eiger
      M: [Mont Blanc, Monte Rosa]
      first page: [Eiger, Elbrus]
      second page: [Mont Blanc, Monte Rosa]
      around Mont Blanc: [Elbrus, Mont Blanc, Monte Rosa]
      page of offsets: [Elbrus, Mont Blanc] around it: [Elbrus, Mont Blanc, Monte Rosa]

      """
    ),
    (
      "EverydayLists",
      """
      selected: []
      selected: ["web10"]
      selected: ["web10"]
      selected: ["web9"]
      connect to web9
      connect to Web1
      connect to web2
      disconnect from Web1
      ["north: 41 of 1", "south: 9 of 1"]
      ["south: 90 of 1", "north: 41 of 1"]
      ["south: 91 of 2", "north: 41 of 1"]
      connect to web10
      ["web2 south", "web9 north", "web10 south"]
      up to date
      loading
      ["south: 91 of 1"]
      disconnect from web9
      disconnect from web10
      up to date
      disconnect from web2

      """
    ),
    (
      "Differences",
      """
      Changeset(deletions: [1], insertions: [2], moves: [0->1], updates: [0->1])
      applied: true
      remove(2 Test, at: 1)
      move(1 Write, from: 0, to: 1)
      insert(4 Rest, at: 2)
      update(old: 1 Write, new: 1 Write more, at: 1)
      - [1] 2 Test
      > [0] → [1] 1: title: "Write" → "Write more"
      + [2] 4 Rest
      1 inserted, 1 deleted, 1 updated, 1 moved
      Changeset(updates: [0->0]): [1 Write more, 2 Test, 3 Ship]
      Changeset(deletions: [1]): [1 Write more, 3 Ship]
      Changeset(insertions: [2], moves: [0->1]): [3 Ship, 1 Write more, 4 Rest]
      back: true
      both: 1 inserted, 2 deleted
      {"deletes":[{"at":0,"element":{"id":3,"title":"Ship"}}],"inserts":[],"moves":[],\
      "updates":[{"at":0,"element":{"id":1,"title":"Write"},"from":1,"old":{"id":1,\
      "title":"Write more"}}]}
      read: true
      SectionedChangeset(elementDeletions: [0.2], elementMoves: [1.0->0.1, 0.0->1.0])

      """
    ),
    (
      "Swapping",
      """
      at first: [Autumn, Winter]
      1 inserted, 1 updated, 1 moved -> [Winter, Late autumn, Spring]
      1 deleted -> [Winter, Spring]
      to a copy: unchanged
      1 inserted -> [Winter, Spring, Summer]
      so far: undecided
      1 inserted, 2 deleted -> [Summer, Night]
      then: swapped
      swap failed: there is no network
      2 deleted -> []
      two swaps: superseded swapped
      2 inserted -> [Winter, Spring]
      short ones: [Winter, Spring]
      a cycle: cycle

      """
    ),
    (
      "SwapControl",
      """
      prices: [bread 310, milk 120, tea 480]
      refused: 3 of 3 elements would be deleted; the limit is 50 percent
      prices: [bread 320, milk 125]
      prices: []
      an import would make 1 inserted, 1 updated
      imported: [tea 500, rice 260, salt 80]
      3 prices, 3 names
      1 prices, 1 names
      together: swapped
      shown: ["spare"]
      shown: ["live"]
      shown: ["spare"]
      shown: ["live"]

      """
    ),
    (
      "Files",
      """
      before loading: idle
      loaded: [Ada, Grace]
      saved: 1 inserted, 1 updated, 1 moved -> [Grace Hopper, Ada, Edsger]
      cannot read …/people.json: line 2, column 9, element 1: a value is expected, but } is found
      kept: [Grace Hopper, Ada, Edsger]
      corrected: 2 deleted, 1 updated -> [Grace]
      lines: [Ada]
      appended: 1 inserted -> [Ada, Grace]

      """
    ),
    (
      "Databases",
      """
      loaded: [Emma, Persuasion, Walden]
      a new title: 1 updated, 1 moved -> [Persuasion, Walden, Zadig]
      a transaction: 2 inserted, 1 deleted -> [Candide, Middlemarch, Persuasion, Zadig]
      another connection: 1 deleted -> [Candide, Middlemarch, Zadig]
      Each row of the result is one row of "book", so changed rows are enough to update the \
      result.
      no such column: tilte (SQLite result 1) in …/books.db, SQL: SELECT id, tilte FROM book, \
      at column 12 («tilte FROM book»); check the SQL and the names in it against the schema
      shown: [Candide, Middlemarch, Zadig]

      """
    ),
    (
      "Orders",
      """
      at first: [Japan 725, India 415, Kenya 406, Chile 402, Mexico 398, Egypt 394, Nepal 390, \
      Peru 370, Brazil 360, France 355]
      a large order: 1 updated, 1 moved -> [Japan 725, France 655, India 415]
      a customer moves: 1 inserted, 1 deleted, 1 updated, 1 moved -> [Kenya 766, Japan 725, \
      France 655]
      no more orders from France: 1 inserted, 1 deleted -> [Kenya 766, Japan 725, India 415]

      """
    ),
    (
      "DifferentialSynchronization",
      """
      merged: [b: Rye bread, a: Oat milk]
      I change: 1 updated, 1 moved
      they change: 1 updated
      disputed: [a: Oat milk or Goat's milk]
      the laptop receives: 1 updated
      the laptop receives: 1 inserted, 1 moved
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
      received: 2 inserted
      here: [Autumn, Winter]
      received: 1 inserted, 1 deleted, 1 updated
      removed 1, new 1, outdated 1
      here: [Spring, Late winter]
      begin
      remove [3]
      download Number 6
      store Number 6
      download Number 5
      store Number 5
      end
      2 downloaded, 0 failed

      """
    ),
    (
      "SyncDemo",
      """
      Ada and Grace share a shopping list on a server. Both fetch it.
        Ada gets 3 inserted
        Grace gets 3 inserted

          Ada           server        Grace
          Apples 4      Apples 4      Apples 4
          Bread 1       Bread 1       Bread 1
          Coffee 2      Coffee 2      Coffee 2

      Both edit at the same time. Ada wants more apples, and tea. Grace moves the coffee to the
      top and removes the bread. Ada synchronizes between Grace's fetch and Grace's push.
        Grace gets 1 inserted, 1 updated, sends 1 deleted, 1 moved, after a second merge
        Ada gets 1 deleted, 1 moved

          Ada           server        Grace
          Coffee 2      Coffee 2      Coffee 2
          Apples 6      Apples 6      Apples 6
          Tea 1         Tea 1         Tea 1

      Ada is on a train without a network. She edits offline. Grace edits at home.
        Ada cannot synchronize: cannot read the server: there is no network; nothing has changed: \
      synchronize again when it can be reached
        Grace sends 1 updated

          Ada           server        Grace
          Coffee 3      Coffee 5      Coffee 5
          Milk 2        Apples 6      Apples 6
          Apples 6      Tea 1         Tea 1

      Ada's battery dies. After the restart, her program still has all edits.
      Ada's list: Coffee 3, Milk 2, Apples 6

      The train arrives. Both have edited the coffee. The server's version wins.
        Ada gets 1 updated, sends 1 inserted, 1 deleted, conflict: Coffee 3 here, \
      Coffee 5 on the server
        Grace gets 1 inserted, 1 deleted

          Ada           server        Grace
          Coffee 5      Coffee 5      Coffee 5
          Milk 2        Milk 2        Milk 2
          Apples 6      Apples 6      Apples 6

      Grace adds honey. The server receives it, but its answer is lost, and Grace's program ends.
      Ada receives the honey, and removes it again.
        Grace cannot synchronize: the server did not answer a push: the line went dead; the next \
      synchronization repeats the push: synchronize again when it can be reached
        Ada gets 1 inserted
        Ada sends 1 deleted

          Ada           server        Grace
          Coffee 5      Coffee 5      Coffee 5
          Milk 2        Milk 2        Milk 2
          Apples 6      Apples 6      Apples 6
                                      Honey 1

      Grace is back. The server knows her push already, so the honey stays removed.
        Grace gets 1 deleted

          Ada           server        Grace
          Coffee 5      Coffee 5      Coffee 5
          Milk 2        Milk 2        Milk 2
          Apples 6      Apples 6      Apples 6

      All three lists are equal: Coffee 5, Milk 2, Apples 6

      """
    ),
  ]

  @Test(arguments: expected.map(\.program))
  func `a page prints the expected text`(name: String) throws {
    for _ in 0..<3 {
      let directory = try TemporaryDirectory()
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

  @Test func `each page is listed and tested and has at most 80 lines`() throws {
    let tour = try Guide.package().appendingPathComponent("Playgrounds/Tour.playground")
    let pages = try FileManager.default.contentsOfDirectory(
      atPath: tour.appendingPathComponent("Pages").resolvingSymlinksInPath().path
    ).map { $0.replacing(".xcplaygroundpage", with: "") }
    let list = try String(
      contentsOf: tour.appendingPathComponent("contents.xcplayground"), encoding: .utf8)
    #expect(list.matches(of: /page name="(\w+)"/).map { String($0.1) }.sorted() == pages.sorted())
    #expect(Set(pages).isSubset(of: TourTests.expected.map(\.program) + ["Postgres"]))
    for page in pages {
      let text = try String(
        contentsOf: tour.appendingPathComponent("Pages/\(page).xcplaygroundpage/Contents.swift"),
        encoding: .utf8)
      #expect(text.split(separator: "\n", omittingEmptySubsequences: false).count <= 80, "\(page)")
    }
  }
}
