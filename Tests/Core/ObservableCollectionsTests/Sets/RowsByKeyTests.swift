import DataSourceTesting
import TestSupport
import TestTags
import Testing

@testable import ObservableCollections

/// The rows of keys, beside an array of keys.
@Suite struct RowsByKeyTests {
  @Test(
    .reaches("insertion", "removal", "new key", "move"),
    arguments: UInt64(0)..<(TestRun.isLong ? 40 : 16))
  func `rows of keys follow random edits`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    // With few keys, most of them repeat.
    let keyCount = [2, 10, 100, 10_000][Int(seed % 4)]
    func key() -> Int? { random.oneIn(8) ? nil : random.below(keyCount) }
    var model = (0..<random.below(200)).map { _ in key() }
    var rows = RowsByKey(model, keepsOrder: seed % 8 < 4)
    for _ in 0..<300 {
      let offset = random.below(model.count + 1)
      switch random.below(model.isEmpty ? 1 : 5) {
      case 0, 1:
        let key = key()
        model.insert(key, at: offset)
        rows.insert(key, at: offset)
        Coverage.note("insertion")
      case 2:
        let offset = random.below(model.count)
        #expect(rows.remove(at: offset) == model.remove(at: offset))
        Coverage.note("removal")
      case 3:
        let (offset, key) = (random.below(model.count), key())
        model[offset] = key
        rows.setKey(of: rows.order[offset], to: key)
        Coverage.note("new key")
      default:
        let (source, destination) = (random.below(model.count), random.below(model.count))
        model.insert(model.remove(at: source), at: destination)
        rows.move(from: source, to: destination)
        Coverage.note("move")
      }
      #expect(rows.orderedKeys() == model)
      let violation = rows.violation
      try #require(violation == nil, "\(violation ?? "")")
    }
  }

  @Test func `rows of keys forget how long their list was`() {
    var rows = RowsByKey((0..<1_000).map { $0 / 2 })
    while rows.count > 100 {
      rows.remove(at: rows.count - 1)
      rows.renumberIfSparse()
    }
    #expect(rows.keys.rowCount <= 400 && rows.violation == nil)
  }

  @Test func `a list takes at most 48 bytes for each row besides its table`() {
    for keyCount in [1_000_000, 1_000] {
      let rows = RowsByKey((0..<100_000).map { $0 % keyCount })
      let bytes = rows.order.byteCount + rows.grouped.byteCount + 16 * rows.keys.capacity
      #expect((bytes + 4 * rows.groupNumbers.count) / 100_000 <= 48)
    }
  }
}
