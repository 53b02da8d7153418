import DataSourceTesting
import Swappable
import TestSupport
import Testing

struct First<Element: Differentiable & Sendable>: CollectionOperator {
  let count: Int

  func start(with input: Snapshot<Element>) -> [Element] {
    Array(input.prefix(count))
  }

  func apply(
    _ change: CollectionChange<Element>, to output: Snapshot<Element>
  ) -> (output: [Element], changeset: Changeset)? {
    let next = Array(change.after.prefix(count))
    return (next, Changeset(from: output, to: next))
  }
}

extension DataSource {
  /// Makes a live collection of the first elements.
  ///
  /// | in | out |
  /// |---|---|
  /// | insert among them | insert; delete of the one that leaves at the end |
  /// | delete among them | delete; insert of the one that follows |
  /// | update, move among them | the same |
  /// | anything behind them | nothing |
  ///
  /// - Parameter count: How many there are at most.
  /// - Complexity: O(*count*) for a change.
  func first(_ count: Int) -> LiveCollection<Element> {
    transformed(by: First(count: count))
  }
}

struct Described<Input: Differentiable & Sendable>: CollectionOperator {
  let describe: @Sendable (Input) -> String
  private var texts: [String] = []

  init(_ describe: @escaping @Sendable (Input) -> String) {
    self.describe = describe
  }

  mutating func start(with input: Snapshot<Input>) -> [String] {
    texts = input.map(describe)
    return texts
  }

  mutating func apply(
    _ change: CollectionChange<Input>, to output: Snapshot<String>
  ) -> (output: [String], changeset: Changeset)? {
    texts = change.changeset.applying(to: texts, with: change.after.lazy.map(describe))
    return (texts, change.changeset)
  }
}

/// The code of the guide "Write your own operator".
@Suite struct YourOwnOperatorGuideTests {
  @Test func theGuidesCodeIsWhatIsRunHere() throws {
    let guide = try Guide("YourOwnOperator")
    #expect(guide.code.count == 5)
    #expect(try guide.paragraphs(missingIn: #filePath) == [])
  }

  @Test func itPrintsWhatItSays() throws {
    let print = Printed()
    let names = ArrayDataSource(["Ada", "Grace", "Edsger"])
    let two = names.first(2)
    names.remove(at: 0)
    print(two.snapshot)
    #expect(try print.lines == Guide("YourOwnOperator").output)
  }

  @Test func bothKeepTheContract() throws {
    try checkOperator({ $0.first(3) }, is: { Array($0.prefix(3)) })
    try checkOperator(
      { $0.transformed(by: Described { "\($0)" }) }, is: { $0.map { "\($0)" } })
  }

  @Test func noElementIsDescribedTwice() throws {
    let calls = Shared(0)
    try checkOperator(
      { input in
        input.transformed(
          by: Described {
            calls.modify { $0 += 1 }
            return "\($0)"
          })
      }, is: { $0.map { "\($0)" } }, calls: { calls.value })
  }
}
