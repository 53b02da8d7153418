package import Diffing

extension PersistentArray {
  /// Calls a closure with all elements side by side in memory.
  ///
  /// Those of a tree are put side by side bit by bit, and lent to the closure: it neither keeps nor
  /// changes the memory.
  ///
  /// - Complexity: O(*n*) for a tree, O(1) for one array.
  func withContiguousElements<Result>(
    _ body: (UnsafeBufferPointer<Element>) -> Result
  ) -> Result {
    // Of values that know where they are, such as weak references, only true copies will do.
    guard case .tree(let root) = self, _isBitwiseTakable(Element.self) else {
      return flattened().withUnsafeBufferPointer(body)
    }
    // Copying and releasing each element instead takes "swap, both edited before" half as long again.
    let memory = UnsafeMutableRawBufferPointer.allocate(
      byteCount: root.count * MemoryLayout<Element>.stride,
      alignment: MemoryLayout<Element>.alignment)
    // Not deinitialised: the elements belong to the tree, which nobody edits while this holds it.
    defer { memory.deallocate() }
    var end = 0
    root.forEachLeaf(in: 0..<root.count) { leaf, _ in
      Self.leaf(leaf).elements.withUnsafeBytes { bytes in
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

extension Snapshot {
  /// What leads from these contents to `new`, see ``Changeset/init(from:to:)``, found without copying
  /// the elements of either.
  package func changeset(to new: Snapshot) -> Changeset {
    storage.withContiguousElements { old in
      new.storage.withContiguousElements { new in Changeset(from: old, to: new) }
    }
  }
}
