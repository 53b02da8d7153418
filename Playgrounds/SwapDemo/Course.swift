import Swappable

/// A fixed course of edits and swaps, told in words: what the demo does where nobody watches live.
struct Course {
  private let stores: Stores
  private let container: SwappableContainer<Item>
  private var events: LiveValues<CollectionEvent<Item>>.Iterator
  private let say: (String) throws -> Void

  /// Why the course cannot go on.
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// Makes a course that begins with the array.
  ///
  /// - Parameters:
  ///   - stores: What is edited and shown.
  ///   - say: Takes one line after the other.
  init(_ stores: Stores, say: @escaping (String) throws -> Void) {
    self.stores = stores
    self.say = say
    container = SwappableContainer(stores.array.source)
    events = container.events(policy: .everything).makeAsyncIterator()
  }

  /// Plays it to its end.
  mutating func play() async throws {
    try say("initial, array: \(Words.describe(try await next().snapshot))")
    try await edit(stores.array, .setCount(9, id: 3), .move(id: 6, to: 0))

    try await swap(to: stores.json)
    try await edit(stores.json, .delete(id: 5), .insert(Item.list([8])[0], at: 1))
    try editUnseen(stores.array, .setCount(1, id: 1), .delete(id: 4))

    try await swap(to: stores.sqlite)
    try await edit(stores.sqlite, .move(id: 3, to: 6), .setCount(3, id: 3))
    try await edit(stores.sqlite, .insert(Item.list([10])[0], at: 0))

    try await swap(to: stores.array)
    try await swap(to: stores.array)
    try say("at the end: \(Words.describe(container.snapshot))")
  }

  /// Edits what is shown: the container's observers are told.
  private mutating func edit(_ store: some Store, _ edits: Edit...) async throws {
    try store.apply(edits)
    try say("\(store.name) edited: \(Words.describe(try await nextChange()))")
  }

  /// Edits what is not shown: the next event that is awaited will be another one.
  private func editUnseen(_ store: some Store, _ edits: Edit...) throws {
    try store.apply(edits)
    try say("\(store.name) edited, not shown: nothing to tell")
  }

  private mutating func swap(to store: some Store) async throws {
    switch await container.swap(to: store.source).outcome {
    case .swapped:
      try say("swapped to \(store.name): \(Words.describe(try await nextChange()))")
    case .unchanged:
      try say("swapped to \(store.name): nothing differs, nothing to tell")
    case .failed(let error):
      throw error
    case .superseded, .cancelled, .cycle:
      throw Failure(description: "The swap to the \(store.name) was not done.")
    }
  }

  private mutating func next() async throws -> CollectionEvent<Item> {
    guard let event = await events.next() else { throw CancellationError() }
    return event
  }

  private mutating func nextChange() async throws -> CollectionChange<Item> {
    guard case .change(let change) = try await next() else {
      throw Failure(description: "There was a second initial event.")
    }
    return change
  }
}
