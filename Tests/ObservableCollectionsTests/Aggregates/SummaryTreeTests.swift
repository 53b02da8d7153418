import DataSourceTesting
import ObservableCollections
import TestSupport
import Testing

/// The tree of combined values, compared with an array.
@Suite struct SummaryTreeTests {
  @Test func `random edits keep values and their combination`() {
    for seed in UInt64(0)..<12 {
      var random = SeededGenerator(seed: seed)
      var model = (0..<random.below(2_000)).map { "\($0)," }
      if seed % 4 == 0 { model = [] }
      // Concatenation is not commutative.
      let tree = SummaryTree(model, empty: "") { $0 + $1 }
      #expect(tree.total == model.joined())
      for step in 0..<3_000 {
        edit(tree, &model, "\(step);", growing: step < 1_500, &random)
        if step % 100 == 0 {
          #expect(tree.total == model.joined(), "seed \(seed)")
          #expect(tree.values == model, "seed \(seed)")
        }
      }
      while !model.isEmpty {
        let offset = random.below(model.count)
        #expect(tree.remove(at: offset) == model.remove(at: offset), "seed \(seed)")
      }
      #expect(tree.count == 0 && tree.total == "")
    }
  }

  private func edit(
    _ tree: SummaryTree<String>, _ model: inout [String], _ value: String, growing: Bool,
    _ random: inout SeededGenerator
  ) {
    let kind = random.below(10)
    if model.isEmpty || kind < (growing ? 6 : 3) {
      let offset = kind == 0 ? model.count : random.below(model.count + 1)
      tree.insert(value, at: offset)
      model.insert(value, at: offset)
    } else if kind < 8 {
      let offset = random.below(model.count)
      #expect(tree.remove(at: offset) == model.remove(at: offset))
    } else {
      let offset = random.below(model.count)
      #expect(tree.replace(at: offset, with: value) == model[offset])
      model[offset] = value
    }
  }

  @Test func `a tree grows and shrinks at both ends`() {
    for isAtEnd in [false, true] {
      let tree = SummaryTree([], empty: 0) { $0 + $1 }
      for number in 0..<5_000 { tree.insert(number, at: isAtEnd ? number : 0) }
      #expect(tree.values == (isAtEnd ? Array(0..<5_000) : (0..<5_000).reversed()))
      #expect(tree.total == 12_497_500)
      for number in 0..<4_990 {
        let removed = tree.remove(at: isAtEnd ? 0 : tree.count - 1)
        #expect(removed == number)
      }
      #expect(tree.values.sorted() == Array(4_990..<5_000))
    }
  }

  @Test func `values inserted at one place keep the tree low`() {
    let calls = Shared(0)
    let tree = SummaryTree(Array(0..<32), empty: 0) { one, other in
      calls.modify { $0 += 1 }
      return one + other
    }
    // Appending fills a leaf. Then insert between two leaves again and again.
    tree.insert(32, at: 32)
    for number in 0..<5_000 { tree.insert(number, at: 32) }
    calls.value = 0
    tree.insert(0, at: 32)
    #expect(calls.value < 250)
  }

  @Test func `an edit combines few values`() {
    for count in [1_000, 100_000] {
      let calls = Shared(0)
      let tree = SummaryTree(Array(0..<count), empty: 0) { one, other in
        calls.modify { $0 += 1 }
        return one + other
      }
      var random = SeededGenerator(seed: 1)
      for _ in 0..<200 {
        calls.value = 0
        tree.replace(at: random.below(count), with: 1)
        tree.insert(1, at: random.below(count))
        _ = tree.remove(at: random.below(count))
        // Three edits, each of a leaf and of up to four levels above it.
        #expect(calls.value < 3 * (64 + 4 * 48))
      }
    }
  }
}
