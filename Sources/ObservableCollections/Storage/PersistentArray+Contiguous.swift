extension PersistentArray {
  /// Calls a closure with the elements of a range in contiguous memory.
  ///
  /// The memory is borrowed. The closure must not keep or change it.
  ///
  /// - Complexity: O(*k*) for *k* elements of several leaves; O(log *n*) in one leaf, O(1) in one array.
  func withContiguousElements<Result>(
    in range: Range<Int>, _ body: (UnsafeBufferPointer<Element>) -> Result
  ) -> Result {
    if range.isEmpty { return body(UnsafeBufferPointer(start: nil, count: 0)) }
    var offset = range.lowerBound
    let chunk = chunk(at: &offset)
    if offset + range.count <= chunk.count {
      return chunk.withUnsafeBufferPointer {
        body(UnsafeBufferPointer(rebasing: $0[offset..<offset + range.count]))
      }
    }
    // Values that depend on their address, such as weak references, need true copies.
    guard case .tree(let root) = self, _isBitwiseTakable(Element.self) else {
      return elements(in: range).withUnsafeBufferPointer(body)
    }
    // Copying and releasing each element instead takes "swap, both edited before" half as long again.
    let memory = UnsafeMutableRawBufferPointer.allocate(
      byteCount: range.count * MemoryLayout<Element>.stride,
      alignment: MemoryLayout<Element>.alignment)
    // Not deinitialized: the elements belong to the tree, which is not edited while this method
    // retains it.
    defer { memory.deallocate() }
    var end = 0
    root.forEachLeaf(in: range) { leaf, part in
      Self.leaf(leaf).elements.withUnsafeBytes { bytes in
        let stride = MemoryLayout<Element>.stride
        let bytes = UnsafeRawBufferPointer(
          rebasing: bytes[part.lowerBound * stride..<part.upperBound * stride])
        UnsafeMutableRawBufferPointer(rebasing: memory[end..<end + bytes.count]).copyMemory(
          from: bytes)
        end += bytes.count
      }
    }
    return withExtendedLifetime(root) {
      body(UnsafeBufferPointer(memory.bindMemory(to: Element.self)))
    }
  }
}
