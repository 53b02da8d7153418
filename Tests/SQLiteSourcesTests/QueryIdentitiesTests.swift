import DataSourceTesting
import ObservableCollections
import SwappableSources
import Testing

@testable import SQLiteSources

@Suite struct QueryIdentitiesTests {
  @Test func `a set of hashes behaves like a set`() {
    let seed = UInt64.random(in: 0 ... .max)
    print("seed \(seed)")
    var generator = SeededGenerator(seed: seed)
    for spread in [UInt64(8), 200, .max] {
      var model: Set<UInt64> = []
      var set = HashSet64()
      for _ in 0..<20_000 {
        // Small numbers, and numbers with the same lower bits, share slots.
        let number = UInt64.random(in: 1...spread, using: &generator) << 4
        if Bool.random(using: &generator) {
          let isNew = set.insert(number)
          #expect(isNew == model.insert(number).inserted)
        } else {
          set.remove(number)
          model.remove(number)
        }
      }
      for number in model {
        let isNew = set.insert(number)
        #expect(!isNew)
      }
    }
  }

  @Test func `the diagnostic names an identity while it is repeated`() {
    func item(_ id: Int) -> Item { Item(id: id, name: "") }
    var identities = KnownIdentities<Item>()
    identities.update(removed: [], added: [1, 2, 3, 2, 2].map(item))
    #expect(identities.diagnostic?.message.contains("the same key, 2;") == true)
    identities.update(removed: [item(2), item(1)], added: [item(3)])
    #expect(identities.diagnostic?.message.contains("the same key, 2;") == true)
    identities.update(removed: [item(2)], added: [])
    #expect(identities.diagnostic?.message.contains("the same key, 3;") == true)
    identities.update(removed: [item(3)], added: [item(1)])
    #expect(identities.diagnostic == nil)
    identities.update(removed: [item(2)], added: [item(2)])
    #expect(identities.diagnostic == nil)
  }
}
