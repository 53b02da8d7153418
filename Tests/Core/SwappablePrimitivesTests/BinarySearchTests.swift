import SwappablePrimitives
import Testing

@Suite struct BinarySearchTests {
  @Test func `the partitioning index is the first position that satisfies the condition`() {
    for count in 0...9 {
      for boundary in 0...count {
        let elements = Array(0..<count)
        #expect(elements.partitioningIndex { $0 >= boundary } == boundary)
      }
    }
  }

  @Test func `a slice is searched in its own indices`() {
    let elements = Array(0..<10)
    for start in 0...10 {
      for end in start...10 {
        let slice = elements[start..<end]
        for boundary in 0...10 {
          let index = slice.partitioningIndex { $0 >= boundary }
          #expect(index == min(max(boundary, start), end))
        }
      }
    }
  }

  @Test func `the search of a million elements calls the condition at most twenty times`() {
    for boundary in [0, 1, 499_999, 999_999, 1_000_000] {
      var calls = 0
      let index = (0..<1_000_000).partitioningIndex { position in
        calls += 1
        return position >= boundary
      }
      #expect(index == boundary)
      #expect(calls <= 20)
    }
  }
}
