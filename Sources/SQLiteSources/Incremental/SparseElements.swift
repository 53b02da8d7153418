import SwappablePrimitives

/// Some elements of a collection, at their offsets in it; the others are not there to be read.
struct SparseElements<Element>: RandomAccessCollection {
  /// The number of elements in the whole collection.
  let count: Int
  private let offsets: [Int]
  private let elements: [Element]

  /// - Parameters:
  ///   - count: The number of elements in the whole collection.
  ///   - offsets: Where the elements stand, ascending.
  init(count: Int, offsets: [Int], elements: [Element]) {
    self.count = count
    self.offsets = offsets
    self.elements = elements
  }

  var startIndex: Int { 0 }
  var endIndex: Int { count }

  subscript(offset: Int) -> Element {
    let position = offsets.partitioningIndex { $0 >= offset }
    precondition(
      position < offsets.count && offsets[position] == offset,
      "the element at offset \(offset) is not known")
    return elements[position]
  }
}
