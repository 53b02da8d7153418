import DataSourceTesting
import Diffing
import TestSupport
import TestTags
import Testing

@testable import ObservableCollections

/// The lengths of blocks, beside an array of lengths.
@Suite struct BlockLengthsTests {
  @Test(
    .reaches("insertion", "new length", "move", "removal", "only one length"),
    arguments: UInt64(0)..<30) func `lengths follow random edits`(seed: UInt64)
  {
    var random = SeededGenerator(seed: seed)
    // Mostly one length, so that there is no tree at first.
    func length() -> Int { random.oneIn(40) ? random.below(3) : 1 + Int(seed % 2) }
    var model = (0..<random.below(60)).map { _ in 1 + Int(seed % 2) }
    var lengths = BlockLengths(lengths: model)
    for _ in 0..<400 {
      let offset = random.below(model.count + 1)
      switch random.below(model.isEmpty ? 1 : 5) {
      case 0, 1:
        let length = length()
        #expect(lengths.insertBlock(length, at: offset) == model[..<offset].reduce(0, +))
        model.insert(length, at: offset)
        Coverage.note("insertion")
      case 2:
        let (offset, length) = (random.below(model.count), length())
        lengths.setLength(length, at: offset)
        model[offset] = length
        Coverage.note("new length")
      case 3:
        let (source, destination) = (random.below(model.count), random.below(model.count))
        let old = model.indices.flatMap { block in Array(repeating: block, count: model[block]) }
        let change = lengths.moveBlock(from: source, to: destination)
        var order = Array(model.indices)
        order.insert(order.remove(at: source), at: destination)
        let new = order.flatMap { block in Array(repeating: block, count: model[block]) }
        #expect(change.applying(to: old, inserted: [], updated: []) == new)
        model.insert(model.remove(at: source), at: destination)
        Coverage.note("move")
      default:
        // Sometimes all of them, so that the next length is the only one.
        for _ in 0..<(random.oneIn(20) ? model.count : 1) {
          let offset = random.below(model.count)
          lengths.remove(at: offset)
          model.remove(at: offset)
          Coverage.note("removal")
        }
      }
      if Set(model).count == 1 { Coverage.note("only one length") }
      #expect(lengths.count == model.count && lengths.total == model.reduce(0, +))
      #expect(lengths.starts == model.indices.map { model[..<$0].reduce(0, +) })
      let blocks = model.indices.map { lengths.block(at: $0) }
      #expect(blocks.map(\.count) == model && blocks.map(\.lowerBound) == lengths.starts)
    }
  }
}
