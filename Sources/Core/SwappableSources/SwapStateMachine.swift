package import Diffing
package import ObservableCollections
package import ReactiveSignals

/// The decisions of a container: which source it shows, and how each swap ends.
///
/// The machine is a pure value. It receives an ``Input``, moves to its next state, and returns a
/// ``Decision``: the steps to take under the lock, and the actions to perform after it. The machine
/// knows nothing of locks, threads or nodes; ``SwapExecutor`` does. Each kind of input has a function that
/// handles it in all states, so the functions together are the table of transitions.
///
/// A swap runs through phases. It *attaches* the new source, *loads* until the source has
/// loaded, and then *compares* it with the shown contents. From the moment that the
/// comparison begins, updates of both sources are pending: if the swap commits, the updates of the new
/// source are applied and the updates of the old source are discarded. If the swap is abandoned, it is
/// the other way around (rules S3 and S4 of the guide EventContract).
///
/// The way of a swap to a loaded source: input `swap` → action `attach` → input `attached` → action
/// `computeDifference` → input `compared` → step `show` → action `deliver`. If the source has not loaded yet, the phase
/// after `attached` is `loading`. An input `update` that shows a loaded source then leads to `computeDifference`.
///
/// If the swap's guard refuses the difference, the swap is `held`: both sources are live, and the old
/// one is shown. An update of either one leads to `computeDifference` again, and the guard is asked again (rule G1).
///
/// If the swap is one of a group, the machine reports to the group, and the group decides: a source that has loaded is
/// `held` until the input `compare`. If the guard does not refuse the difference, the swap is `agreed` until the input
/// `commit`, which shows it, or `rollBack`, because another swap of the group was refused (rule G3).
package struct SwapStateMachine {
  /// The source that is shown.
  package internal(set) var shown: SwapAttachment?
  /// The swap that is open.
  package internal(set) var swap: Swap?
  /// A Boolean value that indicates whether the shown source has loaded.
  package internal(set) var hasLoaded: Bool
  /// A Boolean value that indicates whether the container was released. Then no source is shown, and no swap is open.
  package internal(set) var isClosed: Bool

  /// Creates a machine, which shows nothing if it is not created in another state.
  package init(
    shown: SwapAttachment? = nil, swap: Swap? = nil, hasLoaded: Bool = false, isClosed: Bool = false
  ) {
    (self.shown, self.swap, self.hasLoaded, self.isClosed) = (shown, swap, hasLoaded, isClosed)
  }

  /// A swap that is open.
  package struct Swap {
    /// The new source.
    package let staged: SwapAttachment
    package internal(set) var phase: Phase
    /// Updates of the shown source, while the difference is being computed or not committed yet. Otherwise, the shown
    /// source is live.
    package internal(set) var withheldOfShown: [SwapUpdate]
    /// Updates of the new source, while it is being attached, and in the same phases.
    package internal(set) var withheldOfStaged: [SwapUpdate]

    package init(
      _ staged: SwapAttachment, _ phase: Phase, withheldOfShown: [SwapUpdate] = [],
      withheldOfStaged: [SwapUpdate] = []
    ) {
      (self.staged, self.phase) = (staged, phase)
      (self.withheldOfShown, self.withheldOfStaged) = (withheldOfShown, withheldOfStaged)
    }
  }

  /// How far a swap has come.
  package enum Phase {
    /// The source is being attached. Whatever the first source of a container holds is shown.
    case attaching(isFirst: Bool)
    /// The source is observed and has not loaded.
    case loading
    /// The difference to the contents of the source is being computed.
    case comparing(SwapContents, Refusal)
    /// The guard has refused the difference, or the group has not asked for it. The source is observed.
    case held(SwapContents)
    /// The difference is known, and was not refused. The other swaps of the group are not that far.
    case agreed(SwapContents, Changeset?)

    /// The contents that are, or were, compared.
    var contents: SwapContents? {
      switch self {
      case .attaching, .loading: nil
      case .comparing(let contents, _), .held(let contents), .agreed(let contents, _): contents
      }
    }
  }

  /// What follows if the guard refuses the difference that is being computed.
  package enum Refusal {
    /// The swap is held.
    case holds
    /// The guard was replaced meanwhile. The new one is asked.
    case asksAgain
    /// The difference was accepted, and is shown.
    case isIgnored
  }

  /// An event that the machine reacts to.
  package enum Input {
    /// The container was created with a first source. If it has another one already, this is a swap.
    case start(SwapAttachment)
    /// A swap to a source was requested. If the source is made from the container, it is a cycle and
    /// was not connected.
    case swap(SwapAttachment, isCycle: Bool)
    /// The action `attach` or `attachFirst` is done.
    case attached(SwapAttachment, SwapContents, isDerivedFromShown: Bool)
    /// An attached source has changed its contents or its status.
    case update(SwapAttachment, SwapUpdate)
    /// The action `computeDifference` is done. The difference is nil if the contents are equal. The reason is nil if the
    /// guard does not refuse it.
    case compared(SwapAttachment, Changeset?, refusal: String?)
    /// The change of a held attachment was accepted, or its group asks for it.
    case compare(SwapAttachment, isAccepted: Bool)
    /// All swaps of a group agree. They have the ticket in common.
    case commit(SwapAttachment, Ticket)
    /// Another swap of the group was refused.
    case rollBack(SwapAttachment)
    /// The swap was canceled, or its group has ended with an outcome.
    case abandon(SwapAttachment, SwapHandle.Outcome)
    /// The container is being released.
    case close
  }

  /// The steps and actions that an input causes.
  package struct Decision {
    /// Steps to take in order, before the lock that guards the machine is released.
    package internal(set) var steps: [Step] = []
    /// Actions to perform in order, after the lock has been released.
    package internal(set) var actions: [Action] = []
  }

  /// A part of a decision that must be atomic with it.
  package enum Step {
    /// Commit the contents of a new source. The difference is nil if the contents are equal. No change is pending any
    /// longer.
    case show(SwapContents, Changeset?, [Ticket])
    /// Commit updates of the source that is shown.
    case replay([SwapUpdate])
    /// Give the source of a new attachment to an attachment of the same collection.
    case adopt(SwapAttachment, by: SwapAttachment)
    /// Give the handle of a staged attachment to a new attachment of the same collection.
    case share(SwapAttachment, with: SwapAttachment)
    /// Publish the change of an attachment as the pending one, with the reason why the guard has refused it.
    case setPendingChange(SwapAttachment, SwapContents, Changeset?, reason: String)
    /// No change is pending any longer.
    case clearPendingChange
    /// From now on, a flush waits for the difference of this attachment.
    case beginDifference(SwapAttachment)
    /// From now on, a flush no longer waits for it.
    case endDifference(SwapAttachment)
  }

  /// A part of a decision that may call other code.
  package enum Action {
    /// Start the source and observe it. Answered by the input `attached`.
    case attach(SwapAttachment)
    /// The same for the first source. The container begins with its contents.
    case attachFirst(SwapAttachment)
    /// Start the source that an attachment has adopted.
    case start(SwapAttachment)
    /// Compute the difference from the shown contents, and ask the guard. Answered by the input `compared`.
    case computeDifference(SwapAttachment, SwapContents)
    /// Disconnect the attachment, and stop observing if that has begun.
    case leave(SwapAttachment)
    /// Stop observing. The attachment was left while it was being attached.
    case endObservation(SwapAttachment)
    /// Abandon the group of a staged attachment, unless the group of the new one has ended. Then the swap to the new one is
    /// requested again: the answer is the input `swap`.
    case supersede(SwapAttachment, by: SwapAttachment)
    /// Tell the handle or the group of a swap how far it is.
    case report(SwapAttachment, Report)
    /// Resolve the handle of a swap.
    case resolve(SwapAttachment, SwapHandle.Outcome)
    /// Deliver the committed steps.
    case deliver
    /// Wake the flushes that waited for a difference.
    case wakeWaiters
    /// Release updates that are not applied.
    case discardUpdates([SwapUpdate])
    /// Release contents that are not shown.
    case discardContents(SwapContents)
  }

  /// A step of a swap that its group, or a task that waits for a preview, must know.
  package enum Report: Hashable {
    /// The source has loaded, or may be shown before that.
    case isReady
    /// A side of a held swap has changed.
    case hasChanged
    /// The guard has not refused the difference.
    case agrees(hasDifference: Bool)
    /// The guard has refused the difference.
    case isRefused
  }
}

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
  package let box: NodeState
  let readiness: SwapReadiness
  /// The tickets of the transactions that the contents are part of. If they are shown, the commit carries them.
  let tickets: [Ticket]

  package init(_ box: NodeState, _ readiness: SwapReadiness, _ tickets: [Ticket] = []) {
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
  package let update: NodeState
  /// The contents and the status after the update.
  let contents: SwapContents
  /// The tickets of the transactions over several domains that the update is part of.
  let tickets: [Ticket]
  /// Domains downstream wait for the update, although it may be pending in the machine.
  private let hold: TicketHold?

  package init(
    _ update: NodeState, _ contents: SwapContents, _ tickets: [Ticket], in domain: Domain
  ) {
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
