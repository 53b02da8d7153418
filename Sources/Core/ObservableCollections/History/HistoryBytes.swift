import Diffing

/// An element that knows about how much memory it takes beside its own value.
package protocol SizedElement {
  /// The number of bytes in other objects that belong to the element.
  ///
  /// - Complexity: O(1)
  var referencedBytes: Int { get }
}

extension CollectionUpdate {
  /// About how many bytes the contents before the change take in addition to those after it, with the change itself.
  ///
  /// - Complexity: O(k) for a change of k elements.
  var bytesOfEarlierContents: Int {
    // An entry of a history, a node among its changes, and the point of a feed.
    var bytes = 640 + changeset.byteCount
    if !_isPOD(Element.self) {
      for offset in changeset.deletions {
        bytes += ElementSize.referencedBytes(of: before[offset])
      }
      for update in changeset.updates {
        bytes += ElementSize.referencedBytes(of: before[update.from])
      }
    }
    return bytes + after.storage.bytesOfCopies(before: changeset)
  }
}

extension Changeset {
  /// About how many bytes the changeset takes.
  var byteCount: Int {
    var bytes = 96
    // An array that has grown has room for more.
    for (capacity, stride) in [
      (deletions.capacity, 8), (insertions.capacity, 8), (moves.capacity, 16),
      (updates.capacity, 16),
    ] where capacity > 0 {
      bytes += 32 + capacity * stride
    }
    return bytes
  }
}

extension PersistentArray {
  /// About how many bytes of the list before a change are not shared with this list.
  fileprivate func bytesOfCopies(before changeset: Changeset) -> Int {
    let stride = MemoryLayout<Element>.stride
    if case .flat = self { return 32 + count * stride }
    let limits = NodeLimits.standard(for: Element.self)
    // Nodes are about three quarters full. Edits of neighbors share a leaf.
    let leaf = limits.leaf * 3 / 4
    let places =
      changeset.deletions + changeset.insertions.enumerated().map { $1 - $0 }
      + changeset.updates.map(\.from) + changeset.moves.flatMap { [$0.from, $0.to] }
    var nodes = count / leaf + 1
    var copies = min(Set(places.map { $0 / leaf }).count, nodes)
    var bytes = copies * (48 + limits.leaf * stride)
    while nodes > 1 {
      nodes = nodes / (limits.inner * 3 / 4) + 1
      copies = min(copies, nodes)
      bytes += copies * (48 + limits.inner * 16)
    }
    return bytes
  }
}

/// Estimates of the memory of elements.
package enum ElementSize {
  /// Returns about how many bytes a value takes beside itself: its texts and collections, but not other objects.
  package static func referencedBytes(of value: Any) -> Int {
    if let element = value as? any SizedElement { return element.referencedBytes }
    if let text = value as? String {
      let count = text.utf8.count
      return count > 15 ? 32 + count : 0
    }
    if let text = value as? any StringProtocol { return 32 + text.utf8.count }
    let mirror = Mirror(reflecting: value)
    if mirror.displayStyle == .class { return 0 }
    if let elements = value as? any Collection,
      let bytes = bytes(of: elements, mirror.displayStyle)
    {
      return bytes
    }
    return mirror.children.reduce(0) { $0 + referencedBytes(of: $1.value) }
  }

  /// Returns about how many bytes a collection takes, or `nil` if it does not store its elements, such as a range. A few
  /// elements stand for all.
  private static func bytes<Elements: Collection>(
    of elements: Elements, _ style: Mirror.DisplayStyle?
  ) -> Int? {
    let isStored = elements.withContiguousStorageIfAvailable { _ in true } ?? false
    // A long list that was edited is a collection in several parts.
    guard isStored || style == .collection || style == .set || style == .dictionary else {
      return nil
    }
    let count = elements.count
    if count == 0 { return 0 }
    let bytes = 32 + count * MemoryLayout<Elements.Element>.stride
    if _isPOD(Elements.Element.self) { return bytes }
    let sample = elements.prefix(16)
    return bytes + sample.reduce(0) { $0 + referencedBytes(of: $1) } * count / sample.count
  }
}
