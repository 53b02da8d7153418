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
    var (low, high) = (0, offsets.count)
    while low < high {
      let middle = (low + high) / 2
      if offsets[middle] < offset { low = middle + 1 } else { high = middle }
    }
    precondition(
      low < offsets.count && offsets[low] == offset, "the element at \(offset) is not known")
    return elements[low]
  }
}
