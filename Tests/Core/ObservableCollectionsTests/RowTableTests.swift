import DataSourceTesting
import TestSupport
import TestTags
import Testing

@testable import ObservableCollections

/// The values of rows, beside a dictionary.
@Suite struct RowTableTests {
  /// A value that counts the instances that exist.
  private final class Counted: Sendable {
    let number: Int
    private let living: Shared<Int>

    init(_ number: Int, _ living: Shared<Int>) {
      self.number = number
      self.living = living
      living.modify { $0 += 1 }
    }

    deinit { living.modify { $0 -= 1 } }
  }

  @Test(.reaches("insertion", "removal", "new value"), arguments: 0..<20)
  func `values are kept until their rows are removed`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let living = Shared(0)
    var model: [UInt32: Int] = [:]
    do {
      let start = random.below(40)
      var values = RowTable((0..<start).map { Counted($0, living) })
      for row in 0..<start { model[UInt32(row)] = row }
      for step in 0..<300 {
        switch random.below(5) {
        case 0, 1:
          let row = values.insert(Counted(1_000 + step, living))
          #expect(model.updateValue(1_000 + step, forKey: row) == nil)
          Coverage.note("insertion")
        case 2, 3:
          guard let row = model.keys.sorted().randomElement(using: &random) else { continue }
          #expect(values.remove(row).number == model.removeValue(forKey: row))
          Coverage.note("removal")
        default:
          guard let row = model.keys.sorted().randomElement(using: &random) else { continue }
          values[row] = Counted(5_000 + step, living)
          model[row] = 5_000 + step
          Coverage.note("new value")
        }
        #expect(living.value == model.count)
      }
      for (row, number) in model { #expect(values[row].number == number) }
      // Row numbers stay small.
      #expect(model.keys.max() ?? 0 < 200)
    }
    #expect(living.value == 0)
  }
}
