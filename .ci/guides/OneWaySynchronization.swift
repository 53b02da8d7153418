import Swappable
import SynchronizerStores
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

actor PhotoServer {
  func list() throws -> [Photo] { [] }
  func download(_ id: ExactString) throws -> [UInt8] { [] }
}

// After the page:
print(outcome.new, shown.count)
try await mirror(PhotoServer(), into: "photos", isDryRun: true)
