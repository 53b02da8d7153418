/// Valid JSON values that stand in a text, from the first to the last.
struct JSONValues: Sendable {
  let text: [UInt8]
  let spans: [Range<Int>]
  /// The name of the member by which elements are known, if there is one.
  let key: String?
  /// How many arrays and objects are open around each of them.
  var depth = 1

  var count: Int { spans.count }

  /// Makes elements of them all.
  ///
  /// - Throws: what is wrong with the first that lacks its key.
  func elements() throws(UndecodableElement) -> [JSONElement] {
    let key = key.map(JSONElement.quoted)
    return try inBatches { (batch) throws(UndecodableElement) in
      try elements(batch, key: key)
    }
  }

  private func elements(
    _ batch: Range<Int>, key: [UInt8]?
  ) throws(UndecodableElement) -> [JSONElement] {
    var elements: [JSONElement] = []
    elements.reserveCapacity(batch.count)
    let capacity = spans[batch].reduce(0) { max($0, $1.count) }
    do throws(JSONScanner.Fault) {
      let start = spans[batch.lowerBound].lowerBound
      try JSONScanner.withScanner(of: text, from: start, capacity: capacity) {
        (scanner) throws(JSONScanner.Fault) in
        for span in spans[batch] {
          scanner.jump(into: span)
          elements.append(try JSONElement.scanElement(&scanner, depth: depth, key: key))
        }
      }
    } catch {
      throw UndecodableElement(
        offset: batch.lowerBound + elements.count, code: error.code, reason: error.reason)
    }
    return elements
  }
}
