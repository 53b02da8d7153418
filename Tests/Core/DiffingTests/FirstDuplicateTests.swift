import Diffing
import Testing

@Suite struct FirstDuplicateTests {
  /// A key whose hash can be equal to that of another key.
  private struct Key: Hashable {
    let value: Int
    let hash: Int

    static func == (left: Key, right: Key) -> Bool { left.value == right.value }
    func hash(into hasher: inout Hasher) { hasher.combine(hash) }
  }

  /// Compares each key with all earlier ones.
  private func expected(_ values: [Int]) -> [Int]? {
    for (offset, value) in values.enumerated() {
      if let first = values[..<offset].firstIndex(of: value) { return [first, offset] }
    }
    return nil
  }

  @Test func `the first duplicate of each short list is found, also if hashes are equal`() {
    for length in 0...5 {
      var values = Array(repeating: 0, count: length)
      repeat {
        for hashCount in 1...4 {
          let keys = values.map { Key(value: $0, hash: $0 % hashCount) }
          let found = keys.firstDuplicate { $0 }.map { [$0.0, $0.1] }
          #expect(found == expected(values), "\(values), \(hashCount)")
        }
      } while increment(&values)
    }
  }

  /// Counts through all lists of the numbers from 0 through 3.
  private func increment(_ values: inout [Int]) -> Bool {
    for index in values.indices {
      values[index] += 1
      if values[index] < 4 { return true }
      values[index] = 0
    }
    return false
  }

  @Test func `a duplicate is found among many keys, whose bits are often shared`() {
    let count = 100_000
    #expect((0..<count).firstDuplicate { $0 } == nil)
    #expect((0..<count).firstDuplicate { $0 == 77_777 ? 12_345 : $0 } ?? (0, 0) == (12_345, 77_777))
    #expect((0..<count).firstDuplicate { $0 / 2 } ?? (0, 0) == (0, 1))
  }
}
