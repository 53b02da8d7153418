import Swappable
import Synchronizers

actor Shelf {
  var keys: Set<Int> = []
  func list() throws -> [Track] { [] }
  func download(_ track: Track) throws -> [UInt8] { [] }
  func remove(_ keys: Set<Int>) {}
  func isOutdated(_ track: Track) -> Bool { false }
  func put(_ bytes: [UInt8], _ track: Track) {}
  func close() {}
}

// After the page:
print(outcome.new, shown.count)
