public import Diffing
public import ReactiveSignals

extension DataSource {
  /// Divides this collection into sections by a key.
  ///
  ///     let byProject = todos.sections(by: \.project)
  ///     let byName = todos.sections(by: \.project, order: .ascending(\.self))
  ///
  /// The result is that of `Dictionary(grouping: source, by: key)`, in the order of the sections. In a section,
  /// elements have the order of the source. The changes of an event have a `sectionedChangeset()`.
  ///
  /// | in | out |
  /// |---|---|
  /// | insert | insert in the section of its key, or a new section |
  /// | delete | delete in its section, or of the section with its last element |
  /// | update | update in its section; if its key changes, a move to another section, or a new section |
  /// | move | move in its section, or nothing if it passes no other element of the section |
  ///
  /// All keys that are not equal to themselves but have the same bits, such as NaN, are one key.
  ///
  /// - Parameters:
  ///   - key: A key path or closure that returns the key of an element. It is called once for each inserted or
  ///     updated element.
  ///   - order: The order of the sections by their keys. By default, sections have the order of their first elements.
  /// - Complexity: O(k log n) for a change of k of n elements.
  @inlinable
  public func sections<Key: Hashable & Sendable>(
    by key: @escaping @Sendable (Element) -> Key, order: ElementOrder<Key>? = nil
  ) -> LiveCollection<ListSection<Key, Element>> {
    GroupingRule(self, key: .constant(key), order: order.map { .constant($0) }).sections
  }

  /// Divides this collection into sections by a key, in an order that may change.
  ///
  ///     let order = Property(ElementOrder<String>.ascending(\.self))
  ///     let byProject = todos.sections(by: \.project, order: order)
  ///     order.value = order.value.reversed
  ///
  /// A change of the order causes at most one event, with as few moves of sections as possible.
  ///
  /// - Parameters:
  ///   - key: A key path or closure that returns the key of an element. It is called once for each inserted or
  ///     updated element.
  ///   - order: The order of the sections by their keys: a property, or a view of one.
  /// - Complexity: O(k log n) for a change of k of n elements, O(g log g) for a new order of g sections.
  @inlinable
  public func sections<Key: Hashable & Sendable>(
    by key: @escaping @Sendable (Element) -> Key, order: some PropertySource<ElementOrder<Key>>
  ) -> LiveCollection<ListSection<Key, Element>> {
    GroupingRule(self, key: .constant(key), order: .property(order.readOnly)).sections
  }

  /// Divides this collection into sections by a key that may change.
  ///
  ///     let key = Property<@Sendable (Todo) -> String>(\.project)
  ///     let sections = todos.sections(by: key)
  ///     key.value = \.assignee
  ///
  /// A change of the key causes at most one event, in which elements move from one section to another.
  ///
  /// - Parameters:
  ///   - key: A property, or a view of one, whose value returns the key of an element. The value is called once for
  ///     each inserted or updated element, and a new value once for each element.
  ///   - order: The order of the sections by their keys. By default, sections have the order of their first elements.
  /// - Complexity: O(k log n) for a change of k of n elements, O(n) for a change of the key.
  @inlinable
  public func sections<Key: Hashable & Sendable>(
    by key: some PropertySource<@Sendable (Element) -> Key>, order: ElementOrder<Key>? = nil
  ) -> LiveCollection<ListSection<Key, Element>> {
    GroupingRule(self, key: .property(key.readOnly), order: order.map { .constant($0) })
      .sections
  }

  /// Groups the elements of this collection by a key.
  ///
  ///     let groups = customers.grouped(by: \.country)
  ///     let spanish = groups[0].elements   // a live collection
  ///
  /// The result has one group for each key, with the key and the number of elements. Each group makes a live
  /// collection of its elements when you ask for it.
  ///
  /// | in | out |
  /// |---|---|
  /// | insert, delete | update of its group, whose number changes; insert or delete of the group with its first or last element |
  /// | update | nothing, or updates of two groups if its key changes |
  /// | move | nothing, or a move of its group if that is now before or after another one |
  ///
  /// - Parameters:
  ///   - key: A key path or closure that returns the key of an element. It is called once for each inserted or
  ///     updated element.
  ///   - order: The order of the groups by their keys. By default, groups have the order of their first elements.
  /// - Complexity: O(k log n) for a change of k of n elements.
  @inlinable
  public func grouped<Key: Hashable & Sendable>(
    by key: @escaping @Sendable (Element) -> Key, order: ElementOrder<Key>? = nil
  ) -> LiveCollection<LiveIndex<Key, Element>.Group> {
    GroupingRule(self, key: .constant(key), order: order.map { .constant($0) }).groups
  }

  /// Groups the elements of this collection by a key, in an order that may change.
  ///
  /// - Parameters:
  ///   - key: A key path or closure that returns the key of an element. It is called once for each inserted or
  ///     updated element.
  ///   - order: The order of the groups by their keys: a property, or a view of one.
  /// - Complexity: O(k log n) for a change of k of n elements, O(g log g) for a new order of g groups.
  @inlinable
  public func grouped<Key: Hashable & Sendable>(
    by key: @escaping @Sendable (Element) -> Key, order: some PropertySource<ElementOrder<Key>>
  ) -> LiveCollection<LiveIndex<Key, Element>.Group> {
    GroupingRule(self, key: .constant(key), order: .property(order.readOnly)).groups
  }

  /// Groups the elements of this collection by a key that may change.
  ///
  /// - Parameters:
  ///   - key: A property, or a view of one, whose value returns the key of an element. The value is called once for
  ///     each inserted or updated element, and a new value once for each element.
  ///   - order: The order of the groups by their keys. By default, groups have the order of their first elements.
  /// - Complexity: O(k log n) for a change of k of n elements, O(n) for a change of the key.
  @inlinable
  public func grouped<Key: Hashable & Sendable>(
    by key: some PropertySource<@Sendable (Element) -> Key>, order: ElementOrder<Key>? = nil
  ) -> LiveCollection<LiveIndex<Key, Element>.Group> {
    GroupingRule(self, key: .property(key.readOnly), order: order.map { .constant($0) })
      .groups
  }

  /// Finds the elements of this collection by a key.
  ///
  ///     let byCustomer = orders.indexed(by: \.customerID)
  ///     let orders = byCustomer[7]   // a live collection
  ///
  /// - Parameter key: A key path or closure that returns the key of an element. It is called once for each inserted or
  ///   updated element.
  /// - Returns: An index with a live collection for each key. A change of the source visits only the collections of
  ///   the keys that it affects.
  /// - Complexity: O(k log n) for a change of k of n elements.
  @inlinable
  public func indexed<Key: Hashable & Sendable>(
    by key: @escaping @Sendable (Element) -> Key
  ) -> LiveIndex<Key, Element> {
    GroupingRule(self, key: .constant(key), order: nil).index
  }
}

/// The live collections of the elements with each key.
///
/// ``DataSource/indexed(by:)`` creates an index.
public struct LiveIndex<Key: Hashable & Sendable, Element: Differentiable & Sendable>: Sendable {
  @usableFromInline let grouping: Grouping<Key, Element>

  @inlinable
  init(_ grouping: Grouping<Key, Element>) {
    self.grouping = grouping
  }

  /// The elements with a key, in the order of the source.
  ///
  /// The collection is empty while no element has the key. The same collection is returned as long as somebody holds
  /// it. It can be asked for on any thread.
  ///
  /// - Complexity: O(log g) for g keys.
  @inlinable public subscript(key: Key) -> LiveCollection<Element> { grouping.collection(for: key) }

  /// A group of elements with the same key.
  ///
  /// Its identity is the key. Its content is the number of elements.
  public struct Group: Differentiable, Sendable {
    /// The key of the elements.
    public let key: Key
    /// The number of elements.
    public let count: Int
    @usableFromInline let origin: GroupOrigin<Key, Element>

    @inlinable
    init(key: Key, count: Int, origin: GroupOrigin<Key, Element>) {
      self.key = key
      self.count = count
      self.origin = origin
    }

    /// The elements, in the order of the source. The collection is made when somebody asks for it.
    ///
    /// It stays live if all elements leave the group, and is filled again if others with the key come. If the list of
    /// groups has been released, the elements of the source are grouped again, once for all groups of that list.
    @inlinable public var elements: LiveCollection<Element> { origin.grouping.collection(for: key) }

    /// The key.
    @inlinable public var differenceIdentifier: Key { key }

    /// Returns whether both groups have the same number of elements.
    @inlinable
    public func isContentEqual(to source: Group) -> Bool { count == source.count }
  }
}
