package import Diffing
package import ObservableCollections
import SwappablePrimitives

/// A counter of the cases that a random test reaches.
///
/// A random test proves nothing about a case that its generator no longer makes. So each random test
/// declares its cases, and fails if it never reached one of them:
///
///     @Test(.reaches(.changes, "swap"), arguments: 0..<20)
///     func `a container follows random sources`(seed: UInt64) throws {
///       …
///       container.swap(to: other)
///       Coverage.note("swap")
///       …
///       Coverage.note(recorder)
///     }
///
/// The trait checks the cases when the test has run with all its arguments. Other threads do not know
/// the counter of the test, so call `note` on the thread of the test.
package final class Coverage: Sendable {
  /// The names of some cases.
  package struct Cases: Sendable, ExpressibleByStringLiteral {
    package let names: [String]

    package init(_ names: some Sequence<String>) { self.names = Array(names) }

    package init(stringLiteral name: String) { names = [name] }

    /// The four kinds of operations of a changeset.
    package static let changes = Cases(Coverage.kinds)

    /// The operations of a changeset apart from updates.
    package static let rearrangements = Cases(Coverage.kinds.filter { $0 != "update" })

    /// The four kinds of operations for each of some names.
    package static func changes(of names: some Sequence<String>) -> Cases {
      Cases(names.flatMap { name in Coverage.kinds.map { "\(name): \($0)" } })
    }
  }

  /// The counter of the test that runs, or `nil` if it declares no cases.
  @TaskLocal package static var current: Coverage?

  /// The names of the four kinds of operations.
  static let kinds = ["deletion", "insertion", "update", "move"]

  private let counts: Locked<[String: Int]>

  /// Creates a counter of some cases.
  convenience init(_ cases: Cases...) { self.init(cases) }

  /// Creates a counter of some cases.
  package init(_ cases: [Cases]) {
    counts = Locked(
      Dictionary(cases.flatMap(\.names).map { ($0, 0) }, uniquingKeysWith: { one, _ in one }))
  }

  /// Counts a case. A case that was not declared is ignored.
  package func note(_ name: String, _ count: Int = 1) {
    counts.withLock { $0[name]? += count }
  }

  /// Counts the operations of changes.
  ///
  /// - Parameters:
  ///   - operations: The operations.
  ///   - name: The name from `changes(of:)`, or `nil`.
  package func note(_ operations: Operations, of name: String? = nil) {
    for (kind, count) in zip(Self.kinds, operations.counts) {
      note(name.map { "\($0): \(kind)" } ?? kind, count)
    }
  }

  /// Throws if a case was never reached.
  ///
  /// - Parameter least: The least number of times that each case must be reached.
  package func check(least: Int = 1) throws(CoverageError) {
    let counts = counts.withLock { $0 }
    if counts.values.contains(where: { $0 < least }) { throw CoverageError(counts, least: least) }
  }
}

extension Coverage {
  /// The numbers of the operations of changes, by kind.
  package struct Operations: Sendable {
    /// The numbers in the order of `kinds`.
    package private(set) var counts = [0, 0, 0, 0]

    package init() {}

    package mutating func add(_ changeset: Changeset) {
      counts[0] += changeset.deletions.count
      counts[1] += changeset.insertions.count
      counts[2] += changeset.updates.count
      counts[3] += changeset.moves.count
    }

    mutating func add(_ other: Operations) {
      for index in counts.indices { counts[index] += other.counts[index] }
    }
  }

  /// Counts a case of the test that runs.
  package static func note(_ name: String, _ count: Int = 1) {
    current?.note(name, count)
  }

  /// Counts the operations of changes for the test that runs.
  package static func note(_ operations: Operations, of name: String? = nil) {
    current?.note(operations, of: name)
  }

  /// Counts the operations of a changeset for the test that runs.
  package static func note(_ changeset: Changeset, of name: String? = nil) {
    guard let current else { return }
    var operations = Operations()
    operations.add(changeset)
    current.note(operations, of: name)
  }

  /// Counts the operations of sections and elements as those of `section` and `element`.
  package static func note(_ changeset: SectionedChangeset) {
    note(changeset.sections, of: "section")
    note("element: deletion", changeset.elementDeletions.count)
    note("element: insertion", changeset.elementInsertions.count)
    note("element: update", changeset.elementUpdates.count)
    note("element: move", changeset.elementMoves.count)
  }

  /// Counts the operations of all changes that an observer has received, for the test that runs.
  package static func note<Element>(_ recorder: RecordingObserver<Element>, of name: String? = nil)
  {
    current?.note(recorder.operations, of: name)
  }
}

extension RecordingObserver {
  /// Observes a source to count its operations. The changes are neither checked nor kept.
  package convenience init(counting source: any DataSource<Element>) {
    self.init(source, replaysEvery: nil, keeps: 1, expectsEveryRevision: false)
  }
}

/// The kinds of changes that the built-in editors of a check have made.
struct EditorCoverage {
  private var operations = Coverage.Operations()
  private var steps = 0

  /// Adds the operations of some transactions of an editor.
  mutating func add(_ operations: Coverage.Operations, steps: Int) {
    self.operations.add(operations)
    self.steps += steps
  }

  /// Throws if there were no operations of some kind, although there were many transactions.
  func check() throws(ContractError) {
    // Fewer transactions may have no move by chance.
    guard steps >= 200 else { return }
    let missing = zip(Coverage.kinds, operations.counts).filter { $0.1 == 0 }.map(\.0)
    guard missing.isEmpty else {
      throw ContractError(
        rule: "coverage",
        message: "\(steps) random transactions have no operation of these kinds: "
          + missing.joined(separator: ", "))
    }
  }
}

/// A random test that never reached one of its cases, or reached it too seldom.
package struct CoverageError: Error, CustomStringConvertible {
  /// The cases that were reached too seldom.
  let missing: [String]
  package let description: String

  fileprivate init(_ counts: [String: Int], least: Int) {
    missing = counts.filter { $0.value < least }.keys.sorted()
    let reached = counts.filter { $0.value >= least }.keys.sorted()
    func text(_ names: [String]) -> String {
      names.map { "\($0) (\(counts[$0] ?? 0))" }.joined(separator: ", ")
    }
    description = """
      these cases were reached less than \(least) times: \(text(missing)); \
      the other cases: \(reached.isEmpty ? "none" : text(reached))
      """
  }
}
