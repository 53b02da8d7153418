import Swappable

/// A fixed sequence of edits and swaps. The demo describes each event in a line.
struct Course {
  private let stores: Stores
  private let container: SwappableContainer<Item>
  private var events: ValueSequence<CollectionEvent<Item>>.Iterator
  private let say: (String) throws -> Void

  /// An error that ends the course.
  struct CourseError: Error, CustomStringConvertible {
    let description: String
  }

  /// Creates a course that starts with the array.
  ///
  /// - Parameters:
  ///   - stores: The stores to edit and to show.
  ///   - say: A closure that receives each line.
  init(_ stores: Stores, say: @escaping (String) throws -> Void) {
    self.stores = stores
    self.say = say
    container = SwappableContainer(stores.array.source)
    events = container.events(policy: .everything).makeAsyncIterator()
  }

  /// Performs all edits and swaps.
  mutating func play() async throws {
    try say("initial, array: \(Words.describe(try await next().snapshot))")
    try await edit(stores.array, .setCount(9, id: 3), .move(id: 6, to: 0))

    try await swap(to: stores.json)
    try await edit(stores.json, .delete(id: 5), .insert(Item.list([8])[0], at: 1))
    try editHidden(stores.array, .setCount(1, id: 1), .delete(id: 4))

    try await swap(to: stores.sqlite)
    try await edit(stores.sqlite, .move(id: 3, to: 6), .setCount(3, id: 3))
    try await edit(stores.sqlite, .insert(Item.list([10])[0], at: 0))

    try await swap(to: stores.array)
    try await swap(to: stores.array)

    try await refuseEmptyList()
    try await preview(stores.json)
    try say("at the end: \(Words.describe(container.snapshot))")
  }

  /// Edits the store that is shown, and waits for the change.
  private mutating func edit(_ store: some Store, _ edits: Edit...) async throws {
    try store.apply(edits)
    try say("\(store.name) edited: \(Words.describe(try await nextChange()))")
  }

  /// Edits a store that is not shown. The container has no event for it.
  private func editHidden(_ store: some Store, _ edits: Edit...) throws {
    try store.apply(edits)
    try say("\(store.name) edited while not shown: no event")
  }

  private mutating func swap(to store: some Store) async throws {
    switch await container.swap(to: store.source).outcome {
    case .swapped:
      try say("swapped to \(store.name): \(Words.describe(try await nextChange()))")
    case .unchanged:
      try say("swapped to \(store.name): the contents are equal, no event")
    case .failed(let error):
      throw error
    case .superseded, .cancelled, .cycle:
      throw CourseError(description: "the swap to \(store.name) was superseded or canceled")
    }
  }

  /// Swaps to an empty list, which a guard refuses.
  private func refuseEmptyList() async throws {
    let swap = container.swap(to: ArrayDataSource<Item>(), guardedBy: .wholeList)
    guard let pending = container.pendingChange.value else {
      throw CourseError(description: "the swap to an empty list was not refused")
    }
    try say("swap to an empty list refused: \(pending.reason)")
    pending.reject()
    guard case .cancelled = await swap.outcome else {
      throw CourseError(description: "the rejected swap was not canceled")
    }
    try say("rejected: no event")
  }

  /// Describes what a swap would change, and then makes it.
  private mutating func preview(_ store: some Store) async throws {
    let preview = try await container.preview(of: store.source)
    try say("preview of \(store.name): \(Words.describe(preview.change))")
    preview.accept()
    try say("accepted: \(try await nextChange().changeset.summary)")
  }

  private mutating func next() async throws -> CollectionEvent<Item> {
    guard let event = await events.next() else { throw CancellationError() }
    return event
  }

  private mutating func nextChange() async throws -> CollectionChange<Item> {
    guard case .change(let change) = try await next() else {
      throw CourseError(description: "expected a change, but received a second initial event")
    }
    return change
  }
}
