import ChangeDescriptions
import Diffing
import ReactiveSignals

extension DataSource {
  /// The type, the label if there is one, the number of elements, the status and the first elements.
  ///
  ///     print(fruits)   // ArrayDataSource<Fruit>: 3 elements, loaded: [apple, pear, plum]
  ///
  /// Printing a list starts nothing, is not tracked as a read, and can be done in observers. `dump` and the command `po` of
  /// the debugger also show the parts. A list inside an element of another list is printed without its elements.
  ///
  /// - Complexity: O(1), apart from the texts of at most five elements.
  public var description: String {
    let label = collection.node.name.label.map { " \"\($0)\"" } ?? ""
    return "\(type(of: self))\(label): \(collection.current.state)"
  }

  /// The status, the number of elements and the first elements.
  public var customMirror: Mirror {
    Mirror(self, children: collection.current.state.parts, displayStyle: .class)
  }
}

extension CollectionState: CustomStringConvertible, CustomReflectable {
  /// The number of elements, the status and the first elements.
  public var description: String {
    // The diagnostics are often long. A dump and `explain()` have them.
    "\(snapshot.sizeText), \(SourceStatus(status.state))\(snapshot.excerpt)"
  }

  /// The status, the number of elements and the first elements.
  public var customMirror: Mirror { Mirror(self, children: parts, displayStyle: .struct) }

  fileprivate var parts: [Mirror.Child] { [("status", status)] + snapshot.parts }
}

extension CollectionEvent: CustomStringConvertible, CustomReflectable {
  /// For an initial event, the number of elements and the first ones. For a change, its description.
  public var description: String {
    switch self {
    case .initial(let snapshot, _): "initial: \(snapshot.sizeText)\(snapshot.excerpt)"
    case .change(let change): change.description
    }
  }

  /// The revision, the number of elements and the first elements. For a change, also its changeset.
  public var customMirror: Mirror {
    switch self {
    case .initial(let snapshot, let revision):
      Mirror(self, children: [("revision", revision)] + snapshot.parts, displayStyle: .enum)
    case .change(let change): Mirror(self, children: change.parts, displayStyle: .enum)
    }
  }
}

extension CollectionChange: CustomReflectable {
  /// The changeset, and the revision, the number of elements and the first elements after the change.
  public var customMirror: Mirror { Mirror(self, children: parts, displayStyle: .struct) }

  fileprivate var parts: [Mirror.Child] {
    [("changeset", changeset.description), ("revision", revision)] + after.parts
  }
}

extension Snapshot: CustomReflectable {
  /// The elements, as those of an array.
  public var customMirror: Mirror {
    Mirror(self, unlabeledChildren: self, displayStyle: .collection)
  }

  /// The elements that a description shows.
  private var beginning: SubSequence { prefix(5) }

  fileprivate var parts: [Mirror.Child] {
    let elements = Array(beginning)
    return [
      ("count", count), (elements.count < count ? "first elements" : "elements", elements),
    ]
  }

  fileprivate var sizeText: String { count.counted("element", "elements") }

  /// The first elements at the end of a description, or nothing if there are none.
  fileprivate var excerpt: String {
    if isEmpty || Nesting.isNested { return "" }
    let texts = Nesting.$isNested.withValue(true) { beginning.map(ChangeDescription.text(of:)) }
    let rest = count > texts.count ? ["… \(count - texts.count) more"] : []
    return ": [\((texts + rest).joined(separator: ", "))]"
  }
}

/// A mark of the description of an element, which may contain a list, and even the list that contains the element.
private enum Nesting {
  @TaskLocal static var isNested = false
}
