/// The values of an observation as an asynchronous sequence.
///
///     for await event in container.events() { … }
///
/// Each iteration is an observation of its own. It begins with `makeAsyncIterator()`, and ends with the
/// signal, if the task is canceled, or if the iterator is released.
public struct ValueSequence<Value: Sendable>: AsyncSequence, Sendable {
  private let begin: @Sendable () -> Iterator

  /// Creates a sequence.
  ///
  /// - Parameters:
  ///   - policy: How items are buffered while the body of the loop is busy.
  ///   - observe: A closure that begins an observation, which posts its items to an inbox.
  ///   - read: A closure that returns the reader of one iteration. The task calls the reader with each item. The
  ///     reader returns the value, or `nil` if the item has none, and whether the sequence ends after the item.
  package init<Item: Mergeable>(
    _ policy: DeliveryPolicy, observe: @escaping @Sendable (Inbox<Item>) -> Disposable,
    read: @escaping @Sendable () -> @Sendable (Item) -> (value: Value?, isEnd: Bool)
  ) {
    begin = {
      let inbox = Inbox<Item>(policy)
      let (observation, read) = (observe(inbox), read())
      return Iterator { _ in
        while let item = await inbox.next() {
          let (value, isEnd) = read(item)
          // Copies of the iterator share the inbox.
          if isEnd { inbox.finish() }
          if let value { return value }
          if isEnd { break }
        }
        observation.dispose()
        return nil
      }
    }
  }

  public func makeAsyncIterator() -> Iterator { begin() }

  /// One iteration. Copies share it.
  public struct Iterator: AsyncIteratorProtocol {
    private let read: @Sendable (isolated (any Actor)?) async -> Value?

    fileprivate init(_ read: @escaping @Sendable (isolated (any Actor)?) async -> Value?) {
      self.read = read
    }

    /// Waits for the next value. Returns `nil` after the end, or if the task is canceled.
    public mutating func next() async -> Value? {
      await read(nil)
    }

    /// Waits for the next value. Returns `nil` after the end, or if the task is canceled.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> Value? {
      await read(actor)
    }
  }
}
