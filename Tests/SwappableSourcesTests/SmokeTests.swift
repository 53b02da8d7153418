import Diffing
import ObservableCollections
import ReactiveSignals
import SwappableSources
import Testing

@Suite struct SmokeTests {
  @Test func swapsBetweenArrays() async throws {
    let one = ArrayDataSource([1, 2, 3])
    let two = ArrayDataSource([3, 2, 5])
    let container = SwappableContainer(one)
    let log = Locked<[String]>([])
    let observation = container.observe { event in
      switch event {
      case .initial(let snapshot, let revision):
        log.withLock { $0.append("initial \(snapshot) \(revision)") }
      case .change(let change):
        log.withLock {
          $0.append(
            "\(change.revisionBefore)-\(change.revision) \(change.changeset) \(change.after)")
        }
      }
    }
    one.append(4)
    #expect(await container.swap(to: two).outcome == .swapped)
    two[0] = 1
    one.append(9)
    let sorted = container.sorted()
    let both = sorted.concatenated(with: container.filter { $0 % 2 == 1 })
    let second = both.observe { event in log.withLock { $0.append("both \(event.snapshot)") } }
    two.append(0)
    two.append(7)
    #expect(container.swap(to: both).outcomeIfKnown == .cycle)
    withTransaction {
      one.append(1); two.append(8); two.append(9)
    }
    log.withLock { print($0.joined(separator: "\n")) }
    observation.dispose()
    second.dispose()
  }
}
