public import Diffing
public import ReactiveSignals
public import SwappablePrimitives

extension LiveCollection where Element.DifferenceIdentifier: Sendable {
  /// The elements of a list that a person or a program has selected.
  ///
  ///     let selection = todos.selection()
  ///     selection.toggle(todo.id)
  ///     let chosen = selection.selected  // a live list
  ///
  /// Elements are selected by their identity, so a selection stays as it is when elements are moved, updated, or arrive
  /// from another source. An update that changes an identity keeps the selection.
  ///
  /// | in | out |
  /// |---|---|
  /// | insert, delete of an element that is selected | insert, delete in `selected` |
  /// | update, move of an element that is selected | update, move in `selected` |
  /// | an element gets selected | insert in `selected`, delete in `unselected` |
  ///
  /// A selection can be changed on any thread, and in a `withTransaction` together with the list.
  public final class Selection: Sendable {
    /// The treatment of identities whose elements leave the list.
    public enum Departure: Sendable, Hashable {
      /// They are not selected if they return.
      case forget
      /// They are selected again if they return. An identity can also be selected before its element arrives.
      case remember
    }

    /// The number of elements that can be selected.
    public enum Mode: Sendable, Hashable {
      /// Any number of elements.
      case multiple
      /// One element at most. Selecting another one deselects it.
      case single
      /// One element at most. If it leaves the list, the next element is selected, or else the one before it.
      case singleOrNeighbor
    }

    /// All elements, with marks on the selected ones.
    @usableFromInline let marked: LiveCollection<MarkedElement<Element>>
    @usableFromInline let requests = SelectionRequests<Element>()
    /// The selected elements, in the order of the list.
    public let selected: LiveCollection<Element>
    /// The other results, as soon as they are asked for: each costs as much as `selected` at each change.
    @usableFromInline let others = Locked(
      (list: LiveCollection<Element>?.none, count: ReadOnlyProperty<Int>?.none))

    @inlinable
    init(of source: some DataSource<Element>, mode: Mode, whenGone: Departure) {
      let requests = requests
      marked = LiveCollection<MarkedElement<Element>> { inputs in
        SelectionOperator(
          input: inputs.collection(source), requests: requests,
          count: inputs.property(requests.count), mode: mode, whenGone: whenGone)
      }
      selected = marked.shownElements()
    }

    /// All other elements, in the order of the list.
    @inlinable public var unselected: LiveCollection<Element> {
      if let list = others.withLock({ $0.list }) { return list }
      let new = marked.compactMap { $0.isShown ? nil : $0.element }
      return others.withLock { others in
        others.list = others.list ?? new
        return others.list ?? new
      }
    }

    /// The number of selected elements in the list.
    @inlinable public var count: ReadOnlyProperty<Int> {
      if let count = others.withLock({ $0.count }) { return count }
      let new = selected.live.count
      return others.withLock { others in
        others.count = others.count ?? new
        return others.count ?? new
      }
    }

    /// The number of selected identities, also of those that are not in the list.
    package var identityCount: Int {
      // An idle list carries out the requests when it is read.
      _ = selected.snapshot
      return requests.identityCount
    }

    /// Returns a property that says whether an element with an identity is in the list, and selected.
    ///
    /// - Complexity: O(log n) for a change.
    public func contains(
      _ identity: Element.DifferenceIdentifier
    ) -> ReadOnlyProperty<Bool> {
      selected.live.contains { $0.differenceIdentifier == identity }
    }

    /// Selects an element. An identity that is not in the list is ignored, unless absent ones are remembered.
    public func select(_ identity: Element.DifferenceIdentifier) { request(.select(identity)) }

    /// Deselects an element.
    public func deselect(_ identity: Element.DifferenceIdentifier) { request(.deselect(identity)) }

    /// Selects an element, or deselects it if it is selected.
    public func toggle(_ identity: Element.DifferenceIdentifier) { request(.toggle(identity)) }

    /// Selects all elements that satisfy a predicate, besides the selected ones.
    ///
    /// If only one element can be selected, it is the first of them.
    ///
    /// - Complexity: O(n)
    public func selectAll(where isIncluded: @escaping @Sendable (Element) -> Bool = { _ in true }) {
      request(.selectAll(isIncluded))
    }

    /// Deselects all elements that satisfy a predicate. Without one, also forgets the identities that are not in the list.
    ///
    /// - Complexity: O(n)
    public func deselectAll(where isIncluded: (@Sendable (Element) -> Bool)? = nil) {
      request(.deselectAll(isIncluded))
    }

    /// Selects the elements that are not selected, and deselects the others.
    ///
    /// If only one element can be selected, nothing happens.
    ///
    /// - Complexity: O(n)
    public func invert() { request(.invert) }

    private func request(_ request: SelectionRequests<Element>.Request) {
      requests.append(request)
    }
  }
}

extension LiveCollection.Selection: CustomStringConvertible {
  /// The number of selected elements, and of all.
  public var description: String {
    "\(selected.snapshot.count) of \(marked.snapshot.count) selected"
  }
}

extension DataSource where Element.DifferenceIdentifier: Sendable {
  /// Creates a selection of elements. At first, none is selected.
  ///
  /// - Parameters:
  ///   - mode: The number of elements that can be selected.
  ///   - whenGone: The treatment of identities whose elements leave the list. Remembered ones need memory until they are
  ///     deselected.
  /// - Complexity: O(k log n) for a change of k of n elements or their selection.
  @inlinable
  public func selection(
    _ mode: LiveCollection<Element>.Selection.Mode = .multiple,
    whenGone: LiveCollection<Element>.Selection.Departure = .forget
  ) -> LiveCollection<Element>.Selection {
    LiveCollection.Selection(of: self, mode: mode, whenGone: whenGone)
  }
}
