/// The nodes that are derived from a node, or from a part of it. The domain's lock guards it.
@usableFromInline
package final class ChildList: @unchecked Sendable {
  // Sendable: the domain's lock guards everything, except `parts`, which never changes.

  /// A derived node, and the input through which it is derived.
  struct Child {
    let node: Node
    let input: NodeInput
  }

  @exclusivity(unchecked) private(set) var slots: [Child?] = []
  @exclusivity(unchecked) private var vacant = 0
  /// The parts that this list belongs to, or `nil` for the children of a whole node.
  private let parts: NodeParts?
  /// The position among the parts that are in use.
  @exclusivity(unchecked) fileprivate var position = -1

  @usableFromInline
  package init(_ parts: NodeParts? = nil) {
    self.parts = parts
  }

  var isEmpty: Bool { slots.count == vacant }

  /// Adds a derived node.
  func add(_ child: Node, through input: NodeInput) {
    if isEmpty { parts?.use(self) }
    input.slot = slots.count
    slots.append(Child(node: child, input: input))
  }

  /// Removes a derived node. The caller holds it, so nothing is deinitialized here.
  func remove(_ input: NodeInput) {
    guard input.slot >= 0 else { return }
    slots[input.slot] = nil
    input.slot = -1
    vacant += 1
    if isEmpty { parts?.disuse(self) }
    guard vacant > 16, vacant > slots.count / 2 else { return }
    slots.removeAll { $0 == nil }
    vacant = 0
    for (index, child) in slots.enumerated() { child?.input.slot = index }
  }
}

/// The parts of a node, such as its groups, from which nodes are derived.
///
/// A pass visits only the nodes of the parts that have changed, or of all parts after a step of the status.
@usableFromInline
package final class NodeParts: @unchecked Sendable {
  // Sendable: the domain's lock guards `inUse`. The thread that calls the kernel of the node owns `changed`.

  /// The parts from which a node is derived.
  @exclusivity(unchecked) fileprivate(set) var inUse: [ChildList] = []
  /// The parts that the latest update of the node has changed.
  @exclusivity(unchecked) @usableFromInline package var changed: [ChildList] = []

  @usableFromInline
  package init() {}

  fileprivate func use(_ part: ChildList) {
    part.position = inUse.count
    inUse.append(part)
  }

  fileprivate func disuse(_ part: ChildList) {
    let last = inUse.removeLast()
    if last !== part {
      inUse[part.position] = last
      last.position = part.position
    }
    part.position = -1
  }
}
