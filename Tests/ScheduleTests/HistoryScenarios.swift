import DataSourceTesting
import Diffing
import ObservableCollections
import Testing

/// Histories that are read and resumed while others edit (H1 to H4).
@Suite struct HistoryScenarios {
  @Test func `an observer resumes from a token while two threads edit`() {
    explore(preemptions: 1) { scenario in
      let list = ArrayDataSource<TestElement>([1])
      let history = list.history()
      let base = (revision: list.revision, contents: list.snapshot)
      list.append(2)
      let token = history.token(at: base.revision)
      let (early, resumed) = (Follower<TestElement>(scenario), Follower<TestElement>(scenario))
      early.follow(history) { Self.check(history, has: $0, scenario) }
      scenario.thread { list.append(3) }
      scenario.thread { list.remove(identifiedBy: 2) }
      scenario.thread {
        resumed.resume(history, at: base.revision, with: base.contents, since: token)
      }
      scenario.finally {
        scenario.expect(Array(list.snapshot) == [1, 3], "T3: an edit is lost")
        try early.check(against: history)
        try resumed.check(against: history)
      }
    }
  }

  @Test func `an observer resumes from the latest token while a change is undone`() {
    explore(preemptions: 2) { scenario in
      let list = ArrayDataSource<TestElement>([1])
      let history = list.history()
      let resumed = Follower<TestElement>(scenario)
      scenario.thread {
        list.append(2)
        list.remove(at: 1)
      }
      scenario.thread {
        // The token can be ahead of the events.
        let revision = history.range.upperBound
        guard let contents = history.snapshot(at: revision) else {
          return scenario.fail("H4: a revision is forgotten")
        }
        let token = history.token(at: revision)
        resumed.resume(history, at: revision, with: contents, since: token)
      }
      scenario.finally { try resumed.check(against: history) }
    }
  }

  @Test func `an observer resumes while revisions are forgotten`() {
    explore(preemptions: 2) { scenario in
      let list = ArrayDataSource<TestElement>([1])
      let history = list.history(retaining: .init(revisions: 1))
      let base = (revision: list.revision, contents: list.snapshot)
      let token = history.token
      let (early, resumed) = (Follower<TestElement>(scenario), Follower<TestElement>(scenario))
      early.follow(history) { Self.check(history, has: $0, scenario) }
      scenario.thread {
        list.append(2)
        list.append(3)
      }
      scenario.thread {
        resumed.resume(
          history, at: base.revision, with: base.contents, since: token, mayForget: true)
      }
      scenario.finally {
        try early.check(against: history)
        try resumed.check(against: history)
        scenario.expect(history.revisions.count == 2, "H4: \(history.revisions.count) revisions")
      }
    }
  }

  @Test func `contents and changes of a history agree while revisions are forgotten`() {
    explore(preemptions: 2) { scenario in
      let list = ArrayDataSource<TestElement>([1])
      let history = list.history(retaining: .init(revisions: 2))
      list.append(2)
      scenario.thread {
        list.append(3)
        list.remove(at: 0)
      }
      scenario.thread {
        let range = history.range
        let first = history.snapshot(at: range.lowerBound)
        let last = history.snapshot(at: range.upperBound)
        let change = history.change(from: range.lowerBound, to: range.upperBound)
        let back = history.change(from: range.upperBound, to: range.lowerBound)
        withoutSteps {
          if let first, let change {
            scenario.expect(change.before.hasSameContents(as: first), "H3: other contents before")
            let changed = change.changeset.applying(to: first, with: change.after)
            scenario.expect(
              last.map { Array($0) == changed } ?? true, "H3: a change leads to \(changed)")
          }
          if let last, let back {
            scenario.expect(back.before.hasSameContents(as: last), "H3: other contents before")
            let changed = back.changeset.applying(to: last, with: back.after)
            scenario.expect(
              first.map { Array($0) == changed } ?? true, "H3: a change leads back to \(changed)")
          }
        }
      }
      scenario.finally {
        scenario.expect(history.revisions.count == 3, "H4: \(history.revisions.count) revisions")
      }
    }
  }

  @Test func `a history is created while two threads edit`() {
    explore(preemptions: 2) { scenario in
      let list = ArrayDataSource<TestElement>([1])
      let follower = Follower<TestElement>(scenario)
      scenario.thread { list.append(2) }
      scenario.thread { list.append(3) }
      scenario.thread {
        let history = list.history()
        follower.follow(history)
      }
      scenario.finally { try follower.check(against: list) }
    }
  }

  /// Checks that the latest revision of a history is that of an event (H3). An observer of each pass calls this.
  private static func check(
    _ history: CollectionHistory<TestElement>, has elements: [TestElement], _ scenario: Scenario
  ) {
    let latest = history.snapshot(at: history.range.upperBound).map { Array($0) }
    scenario.expect(
      latest == elements,
      "H3: an observer receives \(elements), and the history has \(latest ?? [])")
  }
}
