import Diffing
import ObservableCollections
import ReactiveSignals

/// A source that is attached to a container, without the type of its elements.
class AnyAttachment: Equatable, @unchecked Sendable {
  // Sendable: `collection` is constant. For the other properties, see the subclass.

  let collection: ObjectIdentifier

  init(collection: ObjectIdentifier) {
    self.collection = collection
  }

  static func == (one: AnyAttachment, other: AnyAttachment) -> Bool { one === other }
}

/// A source that is, or may be, attached to a container.
final class SourceAttachment<Element: Differentiable & Sendable>: AnyAttachment,
  @unchecked Sendable
{
  // Sendable: the lock of the container's domain guards `source`, `feed` and `join`. `handle` changes
  // only before another thread has the attachment: in the initializer, and when a swap that its thread
  // requested joins an earlier one.

  /// The source. If several sources have this collection, it is the last one that was passed.
  private(set) var source: any DataSource<Element>
  let node: CollectionNode<Element>
  private(set) var handle = SwapHandle()
  /// Ends the observation of the source.
  var feed: Disposable?
  /// The number by which flushes wait for the difference.
  var join: UInt64 = 0

  init(
    _ source: any DataSource<Element>,
    onCancel: @escaping @Sendable (SourceAttachment<Element>) -> Void
  ) {
    self.source = source
    node = source.collection.node
    super.init(collection: ObjectIdentifier(node))
    handle = SwapHandle { [weak self] in
      if let self { onCancel(self) }
    }
  }

  static func cast(_ attachment: AnyAttachment) -> SourceAttachment<Element> {
    unsafeDowncast(attachment, to: SourceAttachment<Element>.self)
  }

  /// Takes over the source of a new attachment, which keeps the old one until it is released.
  func adopt(_ new: SourceAttachment<Element>) {
    Swift.swap(&source, &new.source)
  }

  func share(_ staged: SourceAttachment<Element>) {
    handle = staged.handle
  }
}

/// The payload of all containers.
///
/// The type of the elements is erased, so the compiler specializes the machine. Code that is generic
/// over the elements would look up types at each step (`EngineBenchmarks commit behind`).
enum ErasedSwapPayload: SwapPayload {
  typealias Attachment = AnyAttachment
  typealias Difference = Changeset

  struct Contents: Sendable {
    /// A `StateBox`.
    let box: Event
    let readiness: SwapReadiness

    init<Element>(_ box: StateBox<Element>) {
      self.box = box
      let state = box.state
      if state.hasLoaded {
        readiness = .loaded
      } else if let error = state.status.error {
        readiness = .failed(error)
      } else {
        readiness = .loading
      }
    }
  }

  struct Update: Sendable {
    /// A `CollectionUpdate`.
    let update: Event
    /// The tickets of the transactions over several domains that the update is part of.
    let tickets: [Ticket]
    /// Domains downstream wait for the update, although it may be pending in the machine.
    private let hold: TicketHold?
    let contents: Contents

    init<Element>(_ update: CollectionUpdate<Element>, _ tickets: [Ticket], in domain: Domain) {
      self.update = update
      self.tickets = tickets
      hold = TicketHold(tickets, in: domain)
      contents = Contents(update.box)
    }
  }

  static func haveSameCollection(_ one: AnyAttachment, _ other: AnyAttachment) -> Bool {
    one.collection == other.collection
  }

  static func readiness(of contents: Contents) -> SwapReadiness { contents.readiness }

  static func contents(after update: Update) -> Contents { update.contents }
}
