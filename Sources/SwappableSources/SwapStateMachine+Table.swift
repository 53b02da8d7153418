import Diffing
import ObservableCollections
import ReactiveSignals

/// The table of transitions: one function for each kind of input, which handles it in all states.
extension SwapStateMachine {
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

  func started(
    _ old: State, with first: SwapAttachment, _ decision: inout Decision
  ) -> State {
    guard case .empty = old else { return swapped(old, to: first, false, &decision) }
    decision.actions.append(.attachFirst(first))
    return .starting(first, pending: [])
  }

  func swapped(
    _ old: State, to new: SwapAttachment, _ isCycle: Bool, _ decision: inout Decision
  ) -> State {
    if isCycle {
      decision.actions.append(.resolve(new, .cycle))
      return old
    }
    if let staged = old.staged, staged.isGrouped {
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

  func attached(
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
      if attachment != old.shown, attachment != old.staged {
        decision.actions.append(.endObservation(attachment))
      }
      return old
    }
  }

  func updated(
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
      return askAgain(of: staged, contents.updated(by: [update]), over: shown, &decision)
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

  func compared(
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
    let latest = contents.updated(by: ofStaged)
    if !ofStaged.isEmpty { decision.actions.append(.discardContents(contents)) }
    discard(ofStaged, &decision)
    if case .failed(let error) = latest.readiness {
      abandon(staged, .failed(error), and: latest, &decision)
      endDifference(of: staged, &decision)
      return resting(on: shown)
    }
    // Flushes still wait for the difference.
    decision.actions.append(.computeDifference(staged, latest))
    return .diffing(
      shown: shown, staged: staged, contents: latest, pendingOfShown: [], pendingOfStaged: [],
      refusal: .holds)
  }

  func requested(
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

  func committed(
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

  func steppedBack(
    _ old: State, _ attachment: SwapAttachment, _ decision: inout Decision
  ) -> State {
    guard
      case .agreed(let shown, attachment, let contents, _, let ofShown, let ofStaged) = old
    else { return old }
    decision.steps.append(.release)
    replay(ofShown, &decision)
    let latest = contents.updated(by: ofStaged)
    if !ofStaged.isEmpty { decision.actions.append(.discardContents(contents)) }
    discard(ofStaged, &decision)
    decision.actions.append(.deliver)
    endDifference(of: attachment, &decision)
    if case .failed(let error) = latest.readiness {
      abandon(attachment, .failed(error), and: latest, &decision)
      return resting(on: shown)
    }
    if !ofShown.isEmpty || !ofStaged.isEmpty {
      decision.actions.append(.report(attachment, .hasChanged))
    }
    return .held(shown: shown, staged: attachment, contents: latest)
  }

  func abandoned(
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

  func closed(_ old: State, _ decision: inout Decision) -> State {
    if let shown = old.shown { decision.actions.append(.leave(shown)) }
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

  /// Asks the guard of a held swap again, because a side has changed. A group asks all guards. A source that has failed
  /// before it has loaded is abandoned.
  private func askAgain(
    of staged: SwapAttachment, _ contents: SwapContents, over shown: SwapAttachment?,
    _ decision: inout Decision
  ) -> State {
    if case .failed(let error) = contents.readiness {
      abandon(staged, .failed(error), and: contents, &decision)
      return resting(on: shown)
    }
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
    let tickets = tickets + contents.tickets + ofShown.flatMap(\.tickets)
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

extension SwapStateMachine.State {
  /// The source that is shown.
  var shown: SwapAttachment? {
    switch self {
    case .empty, .starting, .closed: nil
    case .showing(let shown): shown
    case .attaching(let shown, _, _), .loading(let shown, _), .diffing(let shown, _, _, _, _, _),
      .held(let shown, _, _), .agreed(let shown, _, _, _, _, _):
      shown
    }
  }

  /// The source of the swap that is open.
  var staged: SwapAttachment? {
    switch self {
    case .empty, .showing, .closed: nil
    case .starting(let staged, _), .attaching(_, let staged, _), .loading(_, let staged),
      .diffing(_, let staged, _, _, _, _), .held(_, let staged, _),
      .agreed(_, let staged, _, _, _, _):
      staged
    }
  }
}
