package import Diffing
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

  package init(_ box: Event, _ readiness: SwapReadiness) {
    self.box = box
    self.readiness = readiness
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

/// The decisions of a container: which source it shows, and how each swap ends.
///
/// The machine is a pure value. It receives an ``Input``, moves to its next ``State``, and returns a
/// ``Decision``: the steps to take under the lock, and the actions to perform after it. The machine
/// knows nothing of locks, threads or nodes; ``SwapExecutor`` does. Every function that follows
/// handles one kind of input in all states, so the functions together are the table of transitions.
///
/// A swap runs through three states. It *attaches* the new source, *loads* until the source has
/// loaded, and then computes the *difference* from the shown contents. From the moment that the
/// difference begins, updates of both sources are pending: if the swap commits, the updates of the new
/// source are applied and the updates of the old source are discarded. If the swap is abandoned, it is
/// the other way around (rules S3 and S4 of the event contract).
///
/// The way of a swap to a loaded source: `swapped` → action `attach` → input `attached` → action
/// `computeDifference` → input `compared` → step `show` → action `deliver`. If the source has not loaded yet, the state
/// after `attached` is `loading`. An input `updated` that shows a loaded source then leads to `computeDifference`.
///
/// If the swap's guard refuses the difference, the state after `compared` is `held`: both sources are live, and the old
/// one is shown. An update of either one leads to `computeDifference` again, and the guard is asked again (rule G1).
///
/// If the swap is one of a group, the machine reports to the group, and the group decides: a source that has loaded is
/// `held` until the input `compare`. If the guard does not refuse the difference, the swap is `agreed` until the input
/// `commit`, which shows it, or `stepBack`, because another swap of the group was refused (rule G3).
package struct SwapStateMachine {
  /// The sources that are attached to the container, and how far a swap has come.
  package enum State {
    /// Nothing is shown, and no swap is open.
    case empty
    /// The first source is being attached. Whatever it holds is shown.
    case starting(SwapAttachment, pending: [SwapUpdate])
    /// A source is shown, and no swap is open.
    case showing(SwapAttachment)
    /// A new source is being attached. Its updates are pending until its contents are known.
    case attaching(shown: SwapAttachment?, staged: SwapAttachment, pending: [SwapUpdate])
    /// A new source is observed and has not loaded. The shown source is live.
    case loading(shown: SwapAttachment?, staged: SwapAttachment)
    /// The difference to the contents of the new source is being computed.
    case diffing(
      shown: SwapAttachment?, staged: SwapAttachment, contents: SwapContents,
      pendingOfShown: [SwapUpdate],
      pendingOfStaged: [SwapUpdate], refusal: Refusal)
    /// The guard has refused the difference, or the group has not asked for it. The shown source is live, and the new one
    /// is observed.
    case held(shown: SwapAttachment?, staged: SwapAttachment, contents: SwapContents)
    /// The difference is known, and was not refused. The other swaps of the group are not that far.
    case agreed(
      shown: SwapAttachment?, staged: SwapAttachment, contents: SwapContents, Changeset?,
      pendingOfShown: [SwapUpdate], pendingOfStaged: [SwapUpdate])
    /// The container was released.
    case closed
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
    /// The container was created with a first source. In any other state than `empty`, this is a swap.
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
    case stepBack(SwapAttachment)
    /// The swap was canceled, or its group has ended with an outcome.
    case abandon(SwapAttachment, SwapHandle.Outcome)
    /// The container is being released.
    case close
  }

  /// The steps and actions that an input causes.
  package struct Decision {
    /// Steps to take in order, before the lock that guards the machine is released.
    package fileprivate(set) var steps: [Step] = []
    /// Actions to perform in order, after the lock has been released.
    package fileprivate(set) var actions: [Action] = []
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
    case hold(SwapAttachment, SwapContents, Changeset?, reason: String)
    /// No change is pending any longer.
    case release
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

  package private(set) var state: State

  /// Creates a machine that shows nothing.
  package init() {
    self.init(in: .empty)
  }

  /// Creates a machine in a state.
  package init(in state: State) {
    self.state = state
  }

  /// The source that is shown.
  package var shown: SwapAttachment? { Self.shown(in: state) }

  /// The source of the swap that is open.
  package var staged: SwapAttachment? { Self.staged(in: state) }

  private static func shown(in state: State) -> SwapAttachment? {
    switch state {
    case .empty, .starting, .closed: nil
    case .showing(let shown): shown
    case .attaching(let shown, _, _), .loading(let shown, _), .diffing(let shown, _, _, _, _, _),
      .held(let shown, _, _), .agreed(let shown, _, _, _, _, _):
      shown
    }
  }

  private static func staged(in state: State) -> SwapAttachment? {
    switch state {
    case .empty, .showing, .closed: nil
    case .starting(let staged, _), .attaching(_, let staged, _), .loading(_, let staged),
      .diffing(_, let staged, _, _, _, _), .held(_, let staged, _),
      .agreed(_, let staged, _, _, _, _):
      staged
    }
  }

  /// Moves to the next state.
  package mutating func handle(_ input: Input) -> Decision {
    // Move the old state out, so pending updates are appended in place.
    var old = State.closed
    Swift.swap(&old, &state)
    var decision = Decision()
    state =
      switch input {
      case .start(let first): started(old, with: first, &decision)
      case .swap(let new, let isCycle): swapped(old, to: new, isCycle, &decision)
      case .attached(let attachment, let contents, let isDerived):
        attached(old, attachment, contents, isDerived, &decision)
      case .update(let attachment, let update):
        updated(consume old, attachment, update, &decision)
      case .compared(let attachment, let difference, let reason):
        compared(old, attachment, difference, reason, &decision)
      case .compare(let attachment, let isAccepted):
        requested(old, attachment, isAccepted, &decision)
      case .commit(let attachment, let ticket): committed(old, attachment, ticket, &decision)
      case .stepBack(let attachment): steppedBack(old, attachment, &decision)
      case .abandon(let attachment, let outcome):
        abandoned(old, attachment, outcome, &decision)
      case .close: closed(old, &decision)
      }
    return decision
  }

  // MARK: The table, one function for each kind of input

  private func started(
    _ old: State, with first: SwapAttachment, _ decision: inout Decision
  ) -> State {
    guard case .empty = old else { return swapped(old, to: first, false, &decision) }
    decision.actions.append(.attachFirst(first))
    return .starting(first, pending: [])
  }

  private func swapped(
    _ old: State, to new: SwapAttachment, _ isCycle: Bool, _ decision: inout Decision
  ) -> State {
    if isCycle {
      decision.actions.append(.resolve(new, .cycle))
      return old
    }
    if let staged = Self.staged(in: old), staged.isGrouped {
      // The group may be about to commit. It decides.
      decision.actions.append(.supersede(staged, by: new))
      return old
    }
    switch old {
    case .empty:
      return stage(new, over: nil, &decision)
    case .showing(let shown):
      return stage(new, over: shown, &decision)
    case .starting(let first, let pending):
      if share(new, with: first, &decision) { return old }
      abandon(first, .superseded, discarding: pending, &decision)
      return stage(new, over: nil, &decision)
    case .attaching(let shown, let staged, let pending):
      if share(new, with: staged, &decision) { return old }
      abandon(staged, .superseded, discarding: pending, &decision)
      return stage(new, over: shown, &decision)
    case .loading(let shown, let staged):
      if share(new, with: staged, &decision) { return old }
      abandon(staged, .superseded, &decision)
      return stage(new, over: shown, &decision)
    case .diffing(let shown, let staged, let contents, let ofShown, let ofStaged, let refusal):
      if share(new, with: staged, &decision) {
        return .diffing(
          shown: shown, staged: staged, contents: contents, pendingOfShown: ofShown,
          pendingOfStaged: ofStaged, refusal: refusal == .holds ? .asksAgain : refusal)
      }
      abandon(staged, .superseded, discarding: ofStaged, and: contents, &decision)
      replay(ofShown, &decision)
      return stage(new, over: shown, &decision)
    case .held(let shown, let staged, let contents):
      if share(new, with: staged, &decision) {
        return beginDifference(of: staged, contents, over: shown, &decision)
      }
      abandon(staged, .superseded, and: contents, &decision)
      return stage(new, over: shown, &decision)
    case .agreed:
      // The staged attachment is one of a group.
      return old
    case .closed:
      decision.actions += [.leave(new), .resolve(new, .cancelled)]
      return old
    }
  }

  private func attached(
    _ old: State, _ attachment: SwapAttachment, _ contents: SwapContents, _ isDerived: Bool,
    _ decision: inout Decision
  ) -> State {
    switch old {
    case .starting(attachment, let pending):
      // The container has begun with the contents, loaded or not: there is nothing to protect.
      replay(pending, &decision)
      decision.actions.append(.resolve(attachment, .swapped))
      return .showing(attachment)
    case .attaching(let shown, attachment, let pending):
      let latest = pending.last?.contents ?? contents
      discard(pending, &decision)
      return evaluateReadiness(
        of: attachment, latest, over: shown, mayWait: !isDerived, &decision)
    case .empty, .starting, .showing, .attaching, .loading, .diffing, .held, .agreed, .closed:
      // An attachment that is not attached now was left while it was being attached.
      if attachment != Self.shown(in: old), attachment != Self.staged(in: old) {
        decision.actions.append(.endObservation(attachment))
      }
      return old
    }
  }

  private func updated(
    _ old: consuming State, _ attachment: SwapAttachment, _ update: SwapUpdate,
    _ decision: inout Decision
  ) -> State {
    switch consume old {
    case .empty:
      return .empty
    case .starting(let first, var pending):
      if first == attachment { pending.append(update) }
      return .starting(first, pending: pending)
    case .showing(let shown):
      if shown == attachment { replay([update], &decision) }
      return .showing(shown)
    case .attaching(let shown, let staged, var pending):
      if shown == attachment { replay([update], &decision) }
      if staged == attachment { pending.append(update) }
      return .attaching(shown: shown, staged: staged, pending: pending)
    case .loading(let shown, let staged):
      if shown == attachment { replay([update], &decision) }
      if staged != attachment { return .loading(shown: shown, staged: staged) }
      return evaluateReadiness(
        of: staged, update.contents, over: shown, mayWait: true, &decision)
    case .diffing(
      let shown, let staged, let contents, var ofShown, var ofStaged, let refusal):
      if shown == attachment { ofShown.append(update) }
      if staged == attachment { ofStaged.append(update) }
      return .diffing(
        shown: shown, staged: staged, contents: contents, pendingOfShown: ofShown,
        pendingOfStaged: ofStaged, refusal: refusal)
    case .held(let shown, let staged, let contents):
      if shown == attachment {
        replay([update], &decision)
        return askAgain(of: staged, contents, over: shown, &decision)
      }
      if staged != attachment { return .held(shown: shown, staged: staged, contents: contents) }
      decision.actions.append(.discardContents(contents))
      return askAgain(of: staged, update.contents, over: shown, &decision)
    case .agreed(
      let shown, let staged, let contents, let difference, var ofShown, var ofStaged):
      if shown == attachment { ofShown.append(update) }
      if staged == attachment { ofStaged.append(update) }
      return .agreed(
        shown: shown, staged: staged, contents: contents, difference, pendingOfShown: ofShown,
        pendingOfStaged: ofStaged)
    case .closed:
      return .closed
    }
  }

  private func compared(
    _ old: State, _ attachment: SwapAttachment, _ difference: Changeset?, _ reason: String?,
    _ decision: inout Decision
  ) -> State {
    switch old {
    case .diffing(let shown, attachment, let contents, let ofShown, let ofStaged, let refusal):
      if let reason, refusal != .isIgnored {
        return refused(old, difference, reason, &decision)
      }
      if attachment.isGrouped {
        decision.actions.append(.report(attachment, .agrees(hasDifference: difference != nil)))
        return .agreed(
          shown: shown, staged: attachment, contents: contents, difference,
          pendingOfShown: ofShown, pendingOfStaged: ofStaged)
      }
      show(contents, difference, over: shown, ofShown, ofStaged, [], &decision)
      decision.actions.append(.resolve(attachment, difference == nil ? .unchanged : .swapped))
      endDifference(of: attachment, &decision)
      return .showing(attachment)
    case .empty, .starting, .showing, .attaching, .loading, .diffing, .held, .agreed, .closed:
      // The swap was abandoned while the difference was being computed.
      endDifference(of: attachment, &decision)
      return old
    }
  }

  /// The guard has refused the difference. If something has changed meanwhile, it is asked again.
  private func refused(
    _ old: State, _ difference: Changeset?, _ reason: String, _ decision: inout Decision
  ) -> State {
    guard
      case .diffing(let shown, let staged, let contents, let ofShown, let ofStaged, let refusal) =
        old
    else { return old }
    if ofShown.isEmpty, ofStaged.isEmpty, refusal == .holds {
      decision.steps.append(.hold(staged, contents, difference, reason: reason))
      decision.actions += [.deliver, .report(staged, .isRefused)]
      endDifference(of: staged, &decision)
      return .held(shown: shown, staged: staged, contents: contents)
    }
    replay(ofShown, &decision)
    let latest = ofStaged.last?.contents ?? contents
    if !ofStaged.isEmpty { decision.actions.append(.discardContents(contents)) }
    discard(ofStaged, &decision)
    // Flushes still wait for the difference.
    decision.actions.append(.computeDifference(staged, latest))
    return .diffing(
      shown: shown, staged: staged, contents: latest, pendingOfShown: [], pendingOfStaged: [],
      refusal: .holds)
  }

  private func requested(
    _ old: State, _ attachment: SwapAttachment, _ isAccepted: Bool, _ decision: inout Decision
  ) -> State {
    switch old {
    case .held(let shown, attachment, let contents):
      return beginDifference(
        of: attachment, contents, over: shown, refusal: isAccepted ? .isIgnored : .holds, &decision)
    case .diffing(let shown, attachment, let contents, let ofShown, let ofStaged, _)
    where isAccepted:
      return .diffing(
        shown: shown, staged: attachment, contents: contents, pendingOfShown: ofShown,
        pendingOfStaged: ofStaged, refusal: .isIgnored)
    case .empty, .starting, .showing, .attaching, .loading, .diffing, .held, .agreed, .closed:
      // The swap is done, or another one has replaced it.
      return old
    }
  }

  private func committed(
    _ old: State, _ attachment: SwapAttachment, _ ticket: Ticket, _ decision: inout Decision
  ) -> State {
    guard
      case .agreed(let shown, attachment, let contents, let difference, let ofShown, let ofStaged) =
        old
    else { return old }
    show(contents, difference, over: shown, ofShown, ofStaged, [ticket], &decision)
    endDifference(of: attachment, &decision)
    return .showing(attachment)
  }

  private func steppedBack(
    _ old: State, _ attachment: SwapAttachment, _ decision: inout Decision
  ) -> State {
    guard
      case .agreed(let shown, attachment, let contents, _, let ofShown, let ofStaged) = old
    else { return old }
    decision.steps.append(.release)
    replay(ofShown, &decision)
    let latest = ofStaged.last?.contents ?? contents
    if !ofStaged.isEmpty { decision.actions.append(.discardContents(contents)) }
    discard(ofStaged, &decision)
    decision.actions.append(.deliver)
    endDifference(of: attachment, &decision)
    if !ofShown.isEmpty || !ofStaged.isEmpty {
      decision.actions.append(.report(attachment, .hasChanged))
    }
    return .held(shown: shown, staged: attachment, contents: latest)
  }

  private func abandoned(
    _ old: State, _ attachment: SwapAttachment, _ outcome: SwapHandle.Outcome,
    _ decision: inout Decision
  ) -> State {
    switch old {
    case .starting(attachment, let pending):
      abandon(attachment, outcome, discarding: pending, &decision)
      return .empty
    case .attaching(let shown, attachment, let pending):
      abandon(attachment, outcome, discarding: pending, &decision)
      return resting(on: shown)
    case .loading(let shown, attachment):
      abandon(attachment, outcome, &decision)
      return resting(on: shown)
    case .diffing(let shown, attachment, let contents, let ofShown, let ofStaged, _),
      .agreed(let shown, attachment, let contents, _, let ofShown, let ofStaged):
      abandon(attachment, outcome, discarding: ofStaged, and: contents, &decision)
      replay(ofShown, &decision)
      if case .agreed = old { endDifference(of: attachment, &decision) }
      return resting(on: shown)
    case .held(let shown, attachment, let contents):
      abandon(attachment, outcome, and: contents, &decision)
      return resting(on: shown)
    case .empty, .starting, .showing, .attaching, .loading, .diffing, .held, .agreed, .closed:
      // The swap is done, whatever its outcome.
      return old
    }
  }

  private func closed(_ old: State, _ decision: inout Decision) -> State {
    if let shown = Self.shown(in: old) { decision.actions.append(.leave(shown)) }
    switch old {
    case .empty, .showing, .closed:
      break
    case .starting(let staged, let pending), .attaching(_, let staged, let pending):
      abandon(staged, .cancelled, discarding: pending, &decision)
    case .loading(_, let staged):
      abandon(staged, .cancelled, &decision)
    case .diffing(_, let staged, let contents, let ofShown, let ofStaged, _),
      .agreed(_, let staged, let contents, _, let ofShown, let ofStaged):
      abandon(staged, .cancelled, discarding: ofStaged, and: contents, &decision)
      discard(ofShown, &decision)
      if case .agreed = old { endDifference(of: staged, &decision) }
    case .held(_, let staged, let contents):
      abandon(staged, .cancelled, and: contents, &decision)
    }
    return .closed
  }

  // MARK: Parts of several cells

  /// Begins a swap, unless the new attachment observes the collection that is shown.
  private func stage(
    _ new: SwapAttachment, over shown: SwapAttachment?, _ decision: inout Decision
  ) -> State {
    guard let shown, new.collection == shown.collection, !new.isGrouped else {
      decision.actions.append(.attach(new))
      return .attaching(shown: shown, staged: new, pending: [])
    }
    decision.steps.append(.adopt(new, by: shown))
    decision.actions += [.start(shown), .leave(new), .resolve(new, .unchanged)]
    return .showing(shown)
  }

  /// Lets a new attachment take part in the swap of an attachment of the same collection.
  ///
  /// - Returns: `true` if the two attachments observe one collection.
  private func share(
    _ new: SwapAttachment, with staged: SwapAttachment, _ decision: inout Decision
  ) -> Bool {
    guard new.collection == staged.collection, !new.isGrouped else { return false }
    decision.steps += [.adopt(new, by: staged), .share(new, with: staged)]
    decision.actions += [.start(staged), .leave(new)]
    return true
  }

  /// Shows the staged source if it can be shown, waits if it may wait, and abandons it if it
  /// failed.
  private func evaluateReadiness(
    of staged: SwapAttachment, _ contents: SwapContents, over shown: SwapAttachment?, mayWait: Bool,
    _ decision: inout Decision
  ) -> State {
    switch contents.readiness {
    case .loading where mayWait:
      return .loading(shown: shown, staged: staged)
    case .loaded, .loading:
      if staged.isGrouped {
        decision.actions.append(.report(staged, .isReady))
        return .held(shown: shown, staged: staged, contents: contents)
      }
      return beginDifference(of: staged, contents, over: shown, &decision)
    case .failed(let error):
      abandon(staged, .failed(error), &decision)
      return resting(on: shown)
    }
  }

  private func beginDifference(
    of staged: SwapAttachment, _ contents: SwapContents, over shown: SwapAttachment?,
    refusal: Refusal = .holds, _ decision: inout Decision
  ) -> State {
    decision.steps.append(.beginDifference(staged))
    decision.actions.append(.computeDifference(staged, contents))
    return .diffing(
      shown: shown, staged: staged, contents: contents, pendingOfShown: [], pendingOfStaged: [],
      refusal: refusal)
  }

  /// Asks the guard of a held swap again, because a side has changed. A group asks all guards.
  private func askAgain(
    of staged: SwapAttachment, _ contents: SwapContents, over shown: SwapAttachment?,
    _ decision: inout Decision
  ) -> State {
    if !staged.isGrouped { return beginDifference(of: staged, contents, over: shown, &decision) }
    decision.actions.append(.report(staged, .hasChanged))
    return .held(shown: shown, staged: staged, contents: contents)
  }

  /// Commits the difference and the updates that came meanwhile, and leaves the source that was shown.
  private func show(
    _ contents: SwapContents, _ difference: Changeset?, over shown: SwapAttachment?,
    _ ofShown: [SwapUpdate], _ ofStaged: [SwapUpdate], _ tickets: [Ticket],
    _ decision: inout Decision
  ) {
    // Transactions over the old source end with this commit, because the rest of them may be shown elsewhere.
    let tickets = tickets + ofShown.flatMap(\.tickets)
    decision.steps.append(.show(contents, difference, tickets))
    if !ofStaged.isEmpty { decision.steps.append(.replay(ofStaged)) }
    if let shown { decision.actions.append(.leave(shown)) }
    discard(ofShown, &decision)
    decision.actions.append(.deliver)
  }

  /// Ends the wait of flushes. They are woken after everything else.
  private func endDifference(of attachment: SwapAttachment, _ decision: inout Decision) {
    decision.steps.append(.endDifference(attachment))
    decision.actions.append(.wakeWaiters)
  }

  /// Abandons the staged source.
  private func abandon(
    _ staged: SwapAttachment, _ outcome: SwapHandle.Outcome, discarding pending: [SwapUpdate] = [],
    and contents: SwapContents? = nil, _ decision: inout Decision
  ) {
    decision.actions += [.leave(staged), .resolve(staged, outcome)]
    discard(pending, &decision)
    if let contents {
      // Its change may be the pending one.
      decision.steps.append(.release)
      decision.actions += [.discardContents(contents), .deliver]
    }
  }

  /// Commits updates of the shown source.
  private func replay(_ updates: [SwapUpdate], _ decision: inout Decision) {
    guard !updates.isEmpty else { return }
    decision.steps.append(.replay(updates))
    decision.actions.append(.deliver)
  }

  private func discard(_ updates: [SwapUpdate], _ decision: inout Decision) {
    if !updates.isEmpty { decision.actions.append(.discardUpdates(updates)) }
  }

  private func resting(on shown: SwapAttachment?) -> State {
    shown.map { .showing($0) } ?? .empty
  }
}
