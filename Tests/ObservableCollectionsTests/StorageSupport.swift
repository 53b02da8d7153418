import ObservableCollections

/// A list beside the array that it is to be, and what is wrong with it, if anything.
struct ModelledArray<Element: Equatable> {
  var list: PersistentArray<Element>
  var model: [Element]
  let limits: NodeLimits

  init(_ elements: [Element], _ limits: NodeLimits) {
    list = PersistentArray(elements)
    model = elements
    self.limits = limits
  }

  mutating func replaceSubrange(_ range: Range<Int>, with new: [Element]) {
    list.replaceSubrange(range, with: new, limits: limits)
    model.replaceSubrange(range, with: new)
  }

  mutating func move(from source: Int, to destination: Int) {
    list.move(from: source, to: destination, limits: limits)
    model.insert(model.remove(at: source), at: destination)
  }

  var violation: String? {
    if list.count != model.count { return "it counts \(list.count) of \(model.count)" }
    if list.array != model { return "it holds \(list.array), not \(model)" }
    for offset in model.indices where list[offset] != model[offset] {
      return "\(list[offset]) is at \(offset), not \(model[offset])"
    }
    return list.root.violation(limits)
  }
}

extension TreeNode {
  /// What is wrong with a tree, if anything.
  func violation(_ limits: NodeLimits) -> String? {
    switch content {
    case .elements(let elements):
      // A root may be one long array that was never edited.
      if count != elements.count { return "a leaf counts \(count) of \(elements.count)" }
    case .children(let children):
      if children.count < 2 { return "a root has \(children.count) children" }
      if children.count > limits.inner { return "a root has \(children.count) children" }
      for child in children {
        if let violation = child.violationBelowRoot(limits) { return violation }
      }
      if children.reduce(0, { $0 + $1.count }) != count { return "a root counts \(count)" }
      if Set(children.map(\.height)).count != 1 { return "children are of different height" }
    }
    return nil
  }

  private func violationBelowRoot(_ limits: NodeLimits) -> String? {
    switch content {
    case .elements(let elements):
      if elements.count != count { return "a leaf counts \(count) of \(elements.count)" }
      if elements.count > limits.leaf || elements.count < limits.leaf / 2 {
        return "a leaf has \(elements.count) elements"
      }
    case .children(let children):
      if children.count > limits.inner || children.count < limits.inner / 2 {
        return "an inner node has \(children.count) children"
      }
      for child in children {
        if let violation = child.violationBelowRoot(limits) { return violation }
      }
      if children.reduce(0, { $0 + $1.count }) != count { return "an inner node counts \(count)" }
      if Set(children.map(\.height)).count != 1 { return "children are of different height" }
    }
    return nil
  }

  /// The number of levels above the leaves.
  var height: Int {
    switch content {
    case .elements: 0
    case .children(let children): 1 + (children.first?.height ?? 0)
    }
  }

  /// The addresses of all nodes' arrays.
  var addresses: Set<UnsafeRawPointer> {
    switch content {
    case .elements(let elements):
      return Set(elements.withUnsafeBufferPointer { $0.baseAddress.map { UnsafeRawPointer($0) } }.map { [$0] } ?? [])
    case .children(let children):
      var addresses = children.withUnsafeBufferPointer { buffer in
        Set(buffer.baseAddress.map { UnsafeRawPointer($0) }.map { [$0] } ?? [])
      }
      for child in children { addresses.formUnion(child.addresses) }
      return addresses
    }
  }
}

extension PersistentArray {
  /// How many nodes this has that others do not have.
  func ownNodeCount(beside others: PersistentArray...) -> Int {
    others.reduce(into: root.addresses) { $0.subtract($1.root.addresses) }.count
  }
}
