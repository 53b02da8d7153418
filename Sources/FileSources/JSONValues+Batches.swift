import Foundation
import SwappablePrimitives

extension JSONValues {
  /// So many that beginning costs little, so few that all processors have some.
  private static let batchSize = 256

  /// Makes something of all values, a batch at a time, on all processors.
  ///
  /// - Throws: what was thrown for the first batch that failed.
  func inBatches<Value: Sendable>(
    _ make: @Sendable (Range<Int>) throws(UndecodableElement) -> [Value]
  ) throws(UndecodableElement) -> [Value] {
    let size = Self.batchSize
    let count = (self.count + size - 1) / size
    if count == 0 { return [] }
    if count == 1 { return try make(0..<self.count) }
    let results = SharedResults(
      Array(repeating: Result<[Value], UndecodableElement>.success([]), count: count))
    DispatchQueue.concurrentPerform(iterations: count) { batch in
      let range = (batch * size)..<min((batch + 1) * size, self.count)
      let result = Result { () throws(UndecodableElement) in try make(range) }
      results.values.withLock { $0[batch] = result }
    }
    var values: [Value] = []
    values.reserveCapacity(self.count)
    for result in results.values.withLock({ $0 }) { values += try result.get() }
    return values
  }

  /// The text of an array of some of the values.
  func array(_ range: Range<Int>) -> Data {
    var text = Data(capacity: spans[range].reduce(2) { $0 + $1.count + 1 })
    text.append(UInt8(ascii: "["))
    for span in spans[range] {
      if text.count > 1 { text.append(UInt8(ascii: ",")) }
      text.append(contentsOf: self.text[span])
    }
    text.append(UInt8(ascii: "]"))
    return text
  }
}

/// What several threads fill in.
private final class SharedResults<Value: Sendable>: Sendable {
  let values: Locked<[Value]>
  init(_ values: [Value]) { self.values = Locked(values) }
}
