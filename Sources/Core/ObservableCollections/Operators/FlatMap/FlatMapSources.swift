public import Diffing
public import ReactiveSignals

extension DataSource {
  /// Derives a collection of the elements of live collections, one for each element of this collection.
  ///
  ///     let all = lists.flatMap { $0.todos }   // each list has an `ArrayDataSource<Todo>`
  ///
  /// The children of a parent take its place. They are followed as long as the parent is there.
  ///
  /// | in | out |
  /// |---|---|
  /// | insert a parent | insert its children |
  /// | delete a parent | delete its children |
  /// | move a parent | move its children, or nothing if they pass no others |
  /// | update a parent | nothing if the closure returns the same collection, otherwise the difference of the contents |
  /// | insert, delete, update, move among children | the same, after the children of the parents before |
  /// | deleted among some children and inserted among others by one change | a move |
  ///
  /// The result equals `Array(parents).flatMap { Array(children($0).snapshot) }`. Elements of several collections may
  /// have one identity.
  ///
  /// If an updated parent has another collection, the old one stays live and shown until the new one has loaded, and the
  /// result changes by their difference. The status is the worst one of the parents and all children. A collection that
  /// fails keeps its last good contents, and the others stay. The result has loaded when the parents have, and each
  /// collection of children has loaded or failed.
  ///
  /// The result has a domain of its own. A transaction over the parents and several collections of children causes one
  /// event, and so does a change of one root from which all of these are derived. If a parent is inserted in such a
  /// transaction, its children may follow with an event of their own.
  ///
  /// A collection that is made from the result is refused: it shows nothing, or the old collection stays, and the status is
  /// an error with the code `cycle`.
  ///
  /// - Parameter children: A key path or closure that returns the children of an element. It is called once for each
  ///   inserted or updated element, and no lock is held. If the collection is idle, it is started.
  /// - Complexity: O(k log n) for a change of k children, and O(c + log n) for a parent with c children. The first parent
  ///   with another number of children than all others takes O(n), once. If a collection that is shown here has further
  ///   results in domains of their own, its first change after a parent has got other children takes O(n), too.
  @inlinable
  public func flatMap<Children: DataSource>(
    _ children: @escaping @Sendable (Element) -> Children
  ) -> LiveCollection<Children.Element> {
    flattened { children($0) }
  }

  /// Derives a collection of the elements of live collections of any types, one for each element of this collection.
  ///
  ///     let all = accounts.flatMap { account -> any DataSource<Message> in
  ///       account.isLocal ? local : RemoteMessages(account)
  ///     }
  ///
  /// Apart from the type, it is the same as the method for collections of one type.
  ///
  /// - Parameter children: A closure that returns the children of an element. It is called once for each inserted or
  ///   updated element, and no lock is held. If the collection is idle, it is started.
  /// - Complexity: O(k log n) for a change of k children, and O(c + log n) for a parent with c children. The first parent
  ///   with another number of children than all others takes O(n), once. If a collection that is shown here has further
  ///   results in domains of their own, its first change after a parent has got other children takes O(n), too.
  @inlinable
  public func flatMap<Child>(
    _ children: @escaping @Sendable (Element) -> any DataSource<Child>
  ) -> LiveCollection<Child> {
    flattened(children)
  }

  @inlinable
  func flattened<Child>(
    _ children: @escaping @Sendable (Element) -> any DataSource<Child>
  ) -> LiveCollection<Child> {
    let inputs = OperatorInputs()
    let flatMap = SourceFlatMap(
      parents: FollowedSource(self), input: inputs.externalInputs(), children: children)
    inputs.addStatus { flatMap.status }
    let (node, upstream) = inputs.collection(by: flatMap)
    return LiveCollection(node, upstream: upstream)
  }
}

extension OperatorInputs {
  /// Adds a root through which updates of other domains enter a new domain.
  @usableFromInline
  func externalInputs() -> NodeInput {
    let root = Node(
      domain: Domain(), state: FollowedUpdates.state, externalInputs: ExternalInputs())
    root.openExternalInputs()
    let input = NodeInput(root)
    inputs.append(input)
    return input
  }

  /// Sets the status of the result.
  @usableFromInline
  func addStatus(_ status: @escaping () -> OperatorStatus) {
    collections.append(StatusInput(input: inputs[0], isRequired: true) { _ in status() })
  }
}

/// The children of one parent.
@usableFromInline
struct FlatMapPart<Child: Differentiable & Sendable>: Sendable {
  /// The collection whose contents are shown.
  @usableFromInline var shown: FollowedSource<Child>?
  /// A collection that replaces the shown one when it has loaded.
  @usableFromInline var staged: FollowedSource<Child>?
  /// The reason why a collection was refused.
  @usableFromInline var error: SourceError?

  @inlinable
  init() {}

  @inlinable var contents: Snapshot<Child> { shown?.state.snapshot ?? Snapshot() }

  /// The worst status, and whether the part need not be waited for.
  @usableFromInline var status: OperatorStatus {
    var statuses = [shown, staged].compactMap { $0?.state.status }
    if let error { statuses.append(.failed(error)) }
    return (statuses.dropFirst().reduce(statuses[0]) { $0.worse($1) }, shown?.isSettled ?? true)
  }
}

/// An operator that shows the contents of collections, one for each element of a list.
///
/// Each parent has a *row*: a number that stays the same as long as the parent is in the list.
@usableFromInline
final class SourceFlatMap<Parent: Differentiable & Sendable, Child: Differentiable & Sendable>:
  CollectionOperator, @unchecked Sendable
{
  // A class, because the status of the output is read from it.
  // Sendable: the engine calls an operator, and reads the status, on one thread at a time.

  @usableFromInline typealias Part = FlatMapPart<Child>

  @usableFromInline let parents: FollowedSource<Parent>
  @usableFromInline let input: NodeInput
  @usableFromInline let children: @Sendable (Parent) -> any DataSource<Child>
  /// The rows in the order of the parents.
  @usableFromInline var order = RowTree()
  @usableFromInline var parts = RowTable<Part>()
  /// The numbers of shown children, in the order of the parents.
  @usableFromInline var lengths = BlockLengths(lengths: [])
  /// The status of each part, in the order of the parents.
  @usableFromInline var statuses = SummaryTree<OperatorStatus>([], empty: (.loaded, true)) {
    ($0.status.worse($1.status), $0.hasLoaded && $1.hasLoaded)
  }

  @inlinable
  init(
    parents: FollowedSource<Parent>, input: NodeInput,
    children: @escaping @Sendable (Parent) -> any DataSource<Child>
  ) {
    self.parents = parents
    self.input = input
    self.children = children
  }

  /// The worst status, and whether all have loaded or failed.
  @usableFromInline var status: OperatorStatus {
    let all = statuses.total
    return (parents.state.status.worse(all.status), parents.state.hasLoaded && all.hasLoaded)
  }

  @inlinable
  func start(_ output: CollectionDraft<Child>) {
    // Here, because updates are recorded from now on.
    guard parents.follow(through: input.node) else {
      preconditionFailure("a new flat map is upstream of its own source")
    }
    let rows = parents.state.snapshot.map { makeRow($0) }
    order = RowTree(rows)
    statuses.replaceAll(with: rows.map { parts[$0].status })
    let contents = rows.map { parts[$0].contents }
    lengths = BlockLengths(lengths: contents.map { $0.count })
    output.append(contentsOf: Array(contents.joined()))
  }

  @inlinable
  func update(_ output: CollectionDraft<Child>) {
    guard let update = input.update else { return }
    var change: CollectionChange<Parent>?
    // First the children, at their places before the change of the parents.
    for (source, update) in FollowedUpdates.read(update).items {
      guard let update = update.resolved() else { continue }
      if source === parents {
        let update = CollectionUpdate<Parent>.read(update)
        parents.state = update.box.state
        change = update.change
      } else {
        let source = unsafeDowncast(source, to: FollowedSource<Child>.self)
        follow(source, CollectionUpdate<Child>.read(update), output)
      }
    }
    if let change { follow(change, output) }
  }

  // MARK: Children

  /// Follows an update of the children of one parent.
  @inlinable
  func follow(
    _ source: FollowedSource<Child>, _ update: CollectionUpdate<Child>,
    _ output: CollectionDraft<Child>
  ) {
    // Otherwise, the source was left.
    guard let row = source.row else { return }
    source.state = update.box.state
    if parts[row].staged === source {
      if source.state.hasLoaded { return showStaged(row, output) }
    } else if let change = update.change {
      follow(change.changeset, change.after, of: row, output)
    }
    if update.isStatusStep { updateStatus(row) }
  }

  /// Replaces the shown children by the staged ones.
  @inlinable
  func showStaged(_ row: UInt32, _ output: CollectionDraft<Child>) {
    let (left, before) = (parts[row].shown, parts[row].contents)
    (parts[row].shown, parts[row].staged) = (parts[row].staged, nil)
    let after = parts[row].contents
    follow(before.changeset(to: after), after, of: row, output)
    updateStatus(row)
    left?.leave(input.node)
  }

  /// Follows a change of the shown children of one parent.
  @inlinable
  func follow(
    _ changeset: Changeset, _ after: Snapshot<Child>, of row: UInt32,
    _ output: CollectionDraft<Child>
  ) {
    let position = order.offset(of: row)
    let start = lengths.block(at: position).lowerBound
    output.apply(valid: changeset.shifted(oldBy: start, newBy: start)) { after[$0 - start] }
    lengths.setLength(after.count, at: position)
  }

  @inlinable
  func updateStatus(_ row: UInt32) {
    statuses.replace(at: order.offset(of: row), with: parts[row].status)
  }

  // MARK: Parents

  @inlinable
  func follow(_ change: CollectionChange<Parent>, _ output: CollectionDraft<Child>) {
    let (changeset, after) = (change.changeset, change.after)
    let deleted = changeset.deletions.map { order[$0] }
    for offset in changeset.deletions.reversed() { order.remove(at: offset) }
    for move in changeset.sequentialMoves { order.insert(order.remove(at: move.from), at: move.to) }
    let inserted = changeset.insertions.map { offset in
      let row = makeRow(after[offset])
      order.insert(row, at: offset)
      return parts[row].contents
    }
    statuses.follow(changeset) { parts[order[$0]].status }
    lengths.follow(changeset, inserted: inserted, output)
    for update in changeset.updates { replaceChildren(order[update.to], after[update.to], output) }
    // Last: a collection that a new parent has as well is observed without a break.
    for row in deleted {
      let part = parts.remove(row)
      part.shown?.leave(input.node)
      part.staged?.leave(input.node)
    }
  }

  @inlinable
  func makeRow(_ parent: Parent) -> UInt32 {
    let row = parts.insert(Part())
    let source = FollowedSource(children(parent), row: row)
    if source.follow(through: input.node) {
      parts[row].shown = source
    } else {
      parts[row].error = cycleError(parent)
    }
    return row
  }

  /// Follows the update of a parent, which may have other children.
  @inlinable
  func replaceChildren(_ row: UInt32, _ parent: Parent, _ output: CollectionDraft<Child>) {
    let source = children(parent)
    let left = parts[row].staged
    parts[row].error = nil
    if let left, left.follows(source) {
      left.source = source
      source.start()
    } else if let shown = parts[row].shown, shown.follows(source) {
      shown.source = source
      source.start()
      parts[row].staged = nil
      left?.leave(input.node)
    } else {
      let new = FollowedSource(source, row: row)
      if new.follow(through: input.node) {
        parts[row].staged = new
        if new.mayReplace(parts[row].shown) { showStaged(row, output) }
      } else {
        parts[row].staged = nil
        parts[row].error = cycleError(parent)
      }
      left?.leave(input.node)
    }
    updateStatus(row)
  }

  @usableFromInline
  func cycleError(_ parent: Parent) -> SourceError {
    SourceError(
      code: "cycle",
      message:
        "the children of \(parent.differenceIdentifier) are made from the flat map that would show them. "
        + "Return a collection that does not depend on its result.")
  }
}

/// A collection that a flat map follows: the list of the parents, or the children of one of them.
///
/// Its updates enter the domain of the flat map through one root, as ``FollowedUpdates``.
@usableFromInline
final class FollowedSource<Element: Differentiable & Sendable>: @unchecked Sendable {
  // Sendable: the creator of the flat map, and its delivering thread from then on, own all variables. `node` is constant.

  /// The source. If several sources have this collection, it is the last one that was passed.
  @usableFromInline var source: any DataSource<Element>
  let node: Node
  /// The contents and the status that the flat map has followed so far.
  @usableFromInline var state = CollectionState<Element>(unloaded: .idle)
  /// The row of the parent, if these are the children of one, and `nil` after they were left.
  @usableFromInline var row: UInt32?
  private var observation: Disposable?

  @usableFromInline
  init(_ source: any DataSource<Element>, row: UInt32? = nil) {
    self.source = source
    self.row = row
    node = source.collection.node
  }

  /// Starts the source and observes it, unless it is made from the flat map.
  ///
  /// - Returns: `true` if the source is followed now.
  @usableFromInline
  func follow(through root: Node) -> Bool {
    guard DependencyGraph.connect(root, to: node) else { return false }
    source.start()
    let (first, observation) = node.observeAsBoundary { [weak self, weak root] event, tickets in
      guard let self, let root else { return }
      let update = CollectionUpdate<Element>.read(event)
      root.send(FollowedUpdates(of: self, update), tickets: tickets, isFollowing: true)
    }
    (state, self.observation) = (StateBox<Element>.read(first).state, observation)
    return true
  }

  /// Ends the observation. Updates that are pending are ignored.
  @usableFromInline
  func leave(_ root: Node) {
    row = nil
    observation?.dispose()
    observation = nil
    DependencyGraph.disconnect(root, from: node)
  }

  /// Returns whether a source has the same collection.
  @usableFromInline
  func follows(_ other: any DataSource<Element>) -> Bool { other.collection.node === node }

  /// Returns whether the source is shown at once instead of another one.
  ///
  /// It is not if it has not loaded. But if the other one has not loaded either, or this one is made from it, waiting
  /// would protect nothing.
  @usableFromInline
  func mayReplace(_ shown: FollowedSource?) -> Bool {
    guard !state.hasLoaded, let shown, shown.state.hasLoaded else { return true }
    return state.status.error == nil
      && DependencyGraph.isDerived(node, from: [ObjectIdentifier(shown.node)])
  }

  /// A Boolean value that indicates whether the source need not be waited for.
  @usableFromInline var isSettled: Bool { state.hasLoaded || state.status.error != nil }
}

/// The updates that the root of a flat map receives in one pass: at most one of each source.
@usableFromInline
final class FollowedUpdates: NodeUpdate, @unchecked Sendable {
  // Sendable: only the root of one flat map has the object. The lock of its domain guards it while it is pending, and
  // the delivering thread owns it from then on.

  /// A source, and its update.
  @usableFromInline typealias Item = (source: any AnyObject & Sendable, update: any NodeUpdate)

  /// The state of the root, which is never read.
  static let state: NodeState = StateBox(CollectionState<Int>(unloaded: .loaded))

  @usableFromInline private(set) var items: [Item]
  /// The position of the update of each source, if there are several.
  private var positions: [ObjectIdentifier: Int] = [:]
  private var changes: (count: Int, limit: Int)

  init(of source: any AnyObject & Sendable, _ update: any NodeUpdate) {
    items = [(source, update)]
    let size = update.size
    changes = (size.changes, size.limit)
  }

  @usableFromInline var state: NodeState { Self.state }
  @usableFromInline var hasChange: Bool { true }
  /// Always `true`, because a new parent may bring another status.
  @usableFromInline var isStatusStep: Bool { true }
  @usableFromInline var changeCount: Int { changes.count }
  @usableFromInline var size: (changes: Int, limit: Int) { (changes.count, changes.limit) }
  @usableFromInline var isComposed: Bool { false }

  /// Adds the updates of another object.
  // In place: a transaction over many sources is one pass.
  @usableFromInline
  func composed(with next: any NodeUpdate) -> any NodeUpdate {
    let next = Self.read(next)
    if positions.isEmpty {
      for (position, item) in items.enumerated() {
        positions[ObjectIdentifier(item.source)] = position
      }
    }
    for item in next.items {
      if let position = positions[ObjectIdentifier(item.source)] {
        items[position].update = items[position].update.composed(with: item.update)
      } else {
        positions[ObjectIdentifier(item.source)] = items.count
        items.append(item)
      }
    }
    // A property has no limit.
    let limit = changes.limit.addingReportingOverflow(next.changes.limit)
    changes = (
      changes.count + next.changes.count, limit.overflow ? .max : limit.partialValue
    )
    return self
  }

  @usableFromInline
  func resolved() -> (any NodeUpdate)? { self }

  @usableFromInline
  func continues(_ state: NodeState) -> Bool { true }

  @usableFromInline
  func continued(from state: NodeState) -> any NodeUpdate { self }

  /// An update of the root of a flat map, with its type.
  @usableFromInline
  static func read(_ update: any NodeUpdate) -> FollowedUpdates {
    unsafeDowncast(update, to: FollowedUpdates.self)
  }
}
