import Diffing
import Foundation
import TestSupport
import Testing

@Suite("The stages of all small lists")
struct StagedExhaustiveTests {

  @Test
  func `stages lead from every list of up to 3 elements to every other list`() {
    #expect(firstViolation(upTo: 3) == nil)
  }

  @Test(.enabled(if: TestRun.isLong))
  func `stages lead from every list of up to 4 elements to every other list`() {
    #expect(firstViolation(upTo: 4) == nil)
  }

  /// Checks all pairs of which none is the same as another but for names.
  private func firstViolation(upTo count: Int) -> String? {
    let elements = (0..<3).flatMap { id in (0..<2).map { Item(id: id, content: $0) } }
    let lists = allLists(upTo: count, of: elements)
    for old in lists {
      guard let names = Names().named(old) else { continue }
      for new in lists where names.named(new) != nil {
        if let violation = stageViolation(from: old, to: new) {
          return "\(old) to \(new): \(violation)"
        }
      }
    }
    return nil
  }
}
