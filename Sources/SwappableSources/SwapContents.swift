package import ObservableCollections
package import ReactiveSignals

/// A source that is, or may be, attached to a container, without the type of its elements.
///
/// The machine and its values are not generic: code that is generic over the elements would look up
/// types at each step (`EngineBenchmarks commit behind`).
package class SwapAttachment: Equatable, @unchecked Sendable {
  // Sendable: `collection` and `isGrouped` are constant. For the properties of the subclass, see there.

  /// The identity of the collection that the source shows.
  let collection: ObjectIdentifier
  /// A Boolean value that indicates whether the swap is one of a ``SwapGroup``, which decides when it is done.
  let isGrouped: Bool

  package init(collection: ObjectIdentifier, isGrouped: Bool = false) {
    self.collection = collection
    self.isGrouped = isGrouped
  }

  package static func == (one: SwapAttachment, other: SwapAttachment) -> Bool { one === other }
}

/// The contents and the status of a source at one moment.
package struct SwapContents: Sendable {
  /// A `StateBox`, without the type of its elements.
  package let box: Event
  let readiness: SwapReadiness
  /// The tickets of the transactions that the contents are part of. If they are shown, the commit carries them.
  let tickets: [Ticket]

  package init(_ box: Event, _ readiness: SwapReadiness, _ tickets: [Ticket] = []) {
    self.box = box
    self.readiness = readiness
    self.tickets = tickets
  }

  /// Returns the contents after some updates. Transactions that are in flight and were part of the earlier contents are
  /// part of them, too.
  func updated(by updates: [SwapUpdate]) -> SwapContents {
    guard let last = updates.last?.contents else { return self }
    let tickets = tickets.filter(\.isInFlight) + updates.flatMap(\.tickets)
    return SwapContents(last.box, last.readiness, tickets)
  }
}

/// A change of a source, a status step, or both.
package struct SwapUpdate: Sendable {
  /// A `CollectionUpdate`, without the type of its elements.
  package let update: Event
  /// The contents and the status after the update.
  let contents: SwapContents
  /// The tickets of the transactions over several domains that the update is part of.
  let tickets: [Ticket]
  /// Domains downstream wait for the update, although it may be pending in the machine.
  private let hold: TicketHold?

  package init(_ update: Event, _ contents: SwapContents, _ tickets: [Ticket], in domain: Domain) {
    self.update = update
    self.contents = contents
    self.tickets = tickets
    hold = TicketHold(tickets, in: domain)
  }
}

/// The readiness of a source to be shown.
package enum SwapReadiness: Sendable, Hashable {
  /// The source has held good contents at some time.
  case loaded
  /// The source has not loaded, and has not failed.
  case loading
  /// The source failed, or was missing, before it loaded.
  case failed(SourceError)
}
