import Diffing
import ObservableCollections
import ReactiveSignals

/// The table of transitions: one function for each kind of input, which handles it in all states.
extension SwapStateMachine {
  /// Moves to the next state.
  package mutating func handle(_ input: Input) -> Decision {
    var decision = Decision()
    switch input {
    case .start(let first): started(with: first, &decision)
    case .swap(let new, let isCycle): swapped(to: new, isCycle, &decision)
    case .attached(let attachment, let contents, let isDerived):
      attached(attachment, contents, isDerived, &decision)
    case .update(let attachment, let update): updated(attachment, update, &decision)
    case .compared(let attachment, let difference, let reason):
      compared(attachment, difference, reason, &decision)
    case .compare(let attachment, let isAccepted): requested(attachment, isAccepted, &decision)
    case .commit(let attachment, let ticket): committed(attachment, ticket, &decision)
    case .rollBack(let attachment): rolledBack(attachment, &decision)
    case .abandon(let attachment, let outcome):
      // Otherwise, the swap is done, whatever its outcome.
      if attachment == swap?.staged { abandon(outcome, &decision) }
    case .close: closed(&decision)
    }
    return decision
  }

  mutating func started(with first: SwapAttachment, _ decision: inout Decision) {
    guard shown == nil, swap == nil, !isClosed else { return swapped(to: first, false, &decision) }
    decision.actions.append(.attachFirst(first))
    swap = Swap(first, .attaching(isFirst: true))
  }

  mutating func swapped(to new: SwapAttachment, _ isCycle: Bool, _ decision: inout Decision) {
    if isCycle {
      decision.actions.append(.resolve(new, .cycle))
    } else if isClosed {
      decision.actions += [.leave(new), .resolve(new, .cancelled)]
    } else if let swap, swap.staged.isGrouped {
      // The group may be about to commit. It decides.
      decision.actions.append(.supersede(swap.staged, by: new))
    } else if let swap, new.collection == swap.staged.collection, !new.isGrouped {
      share(new, in: swap, &decision)
    } else {
      abandon(.superseded, &decision)
      stage(new, &decision)
    }
  }

  mutating func attached(
    _ attachment: SwapAttachment, _ contents: SwapContents, _ isDerived: Bool,
    _ decision: inout Decision
  ) {
    guard let swap, swap.staged == attachment, case .attaching(let isFirst) = swap.phase else {
      // An attachment that is not attached now was left while it was being attached.
      if attachment != shown, attachment != swap?.staged {
        decision.actions.append(.endObservation(attachment))
      }
      return
    }
    let pending = swap.withheldOfStaged
    self.swap?.withheldOfStaged = []
    if isFirst {
      // The container has begun with the contents, loaded or not: there is nothing to protect.
      hasLoaded = contents.readiness == .loaded
      replay(pending, &decision)
      decision.actions.append(.resolve(attachment, .swapped))
      (shown, self.swap) = (attachment, nil)
    } else {
      discard(pending, &decision)
      var latest = contents.updated(by: pending)
      // The shown source has nothing good to protect from the failure: both sources load later (S4).
      if isDerived, !hasLoaded, case .failed = latest.readiness {
        latest = SwapContents(latest.box, .loading, latest.tickets)
      }
      evaluateReadiness(latest, mayWait: !isDerived, &decision)
    }
  }

  mutating func updated(
    _ attachment: SwapAttachment, _ update: SwapUpdate, _ decision: inout Decision
  ) {
    if attachment == shown {
      switch swap?.phase {
      case .comparing, .agreed:
        swap?.withheldOfShown.append(update)
      case .held(let contents):
        replay([update], &decision)
        askAgain(contents, &decision)
      case .attaching, .loading, nil:
        replay([update], &decision)
      }
    } else if attachment == swap?.staged {
      switch swap?.phase {
      case .attaching, .comparing, .agreed:
        swap?.withheldOfStaged.append(update)
      case .loading:
        evaluateReadiness(update.contents, mayWait: true, &decision)
      case .held(let contents):
        decision.actions.append(.discardContents(contents))
        askAgain(contents.updated(by: [update]), &decision)
      case nil:
        break
      }
    }
    // Otherwise, the source was left, and a late update is dropped (S3).
  }

  mutating func compared(
    _ attachment: SwapAttachment, _ difference: Changeset?, _ reason: String?,
    _ decision: inout Decision
  ) {
    guard let swap, swap.staged == attachment,
      case .comparing(let contents, let refusal) = swap.phase
    else {
      // The swap was abandoned while the difference was being computed.
      return endDifference(of: attachment, &decision)
    }
    if let reason, refusal != .isIgnored {
      refused(swap, contents, difference, reason, mayHold: refusal == .holds, &decision)
    } else if attachment.isGrouped {
      decision.actions.append(.report(attachment, .agrees(hasDifference: difference != nil)))
      self.swap?.phase = .agreed(contents, difference)
    } else {
      show(swap, contents, difference, [], &decision)
      decision.actions.append(.resolve(attachment, difference == nil ? .unchanged : .swapped))
      endDifference(of: attachment, &decision)
    }
  }

  /// The guard has refused the difference. If something has changed meanwhile, it is asked again.
  private mutating func refused(
    _ swap: Swap, _ contents: SwapContents, _ difference: Changeset?, _ reason: String,
    mayHold: Bool, _ decision: inout Decision
  ) {
    let staged = swap.staged
    if mayHold, swap.withheldOfShown.isEmpty, swap.withheldOfStaged.isEmpty {
      decision.steps.append(.setPendingChange(staged, contents, difference, reason: reason))
      decision.actions += [.deliver, .report(staged, .isRefused)]
      endDifference(of: staged, &decision)
      self.swap?.phase = .held(contents)
      return
    }
    let latest = resumeBoth(swap, contents, &decision)
    if case .failed(let error) = latest.readiness {
      abandon(.failed(error), &decision)
      endDifference(of: staged, &decision)
    } else {
      // Flushes still wait for the difference.
      decision.actions.append(.computeDifference(staged, latest))
      self.swap?.phase = .comparing(latest, .holds)
    }
  }

  mutating func requested(
    _ attachment: SwapAttachment, _ isAccepted: Bool, _ decision: inout Decision
  ) {
    // Otherwise, the swap is done, or another one has replaced it.
    guard let swap, swap.staged == attachment else { return }
    if case .held(let contents) = swap.phase {
      beginDifference(to: contents, isAccepted ? .isIgnored : .holds, &decision)
    } else if case .comparing(let contents, _) = swap.phase, isAccepted {
      self.swap?.phase = .comparing(contents, .isIgnored)
    }
  }

  mutating func committed(
    _ attachment: SwapAttachment, _ ticket: Ticket, _ decision: inout Decision
  ) {
    guard let swap, swap.staged == attachment,
      case .agreed(let contents, let difference) = swap.phase
    else { return }
    show(swap, contents, difference, [ticket], &decision)
    endDifference(of: attachment, &decision)
  }

  mutating func rolledBack(_ attachment: SwapAttachment, _ decision: inout Decision) {
    guard let swap, swap.staged == attachment, case .agreed(let contents, _) = swap.phase
    else { return }
    decision.steps.append(.clearPendingChange)
    let latest = resumeBoth(swap, contents, &decision)
    decision.actions.append(.deliver)
    endDifference(of: attachment, &decision)
    if case .failed(let error) = latest.readiness {
      abandon(.failed(error), &decision)
    } else if !swap.withheldOfShown.isEmpty || !swap.withheldOfStaged.isEmpty {
      decision.actions.append(.report(attachment, .hasChanged))
    }
  }

  mutating func closed(_ decision: inout Decision) {
    if let shown { decision.actions.append(.leave(shown)) }
    (shown, isClosed) = (nil, true)
    abandon(.cancelled, &decision)
  }

  // MARK: Parts of several cells

  /// Begins a swap, unless the new attachment observes the collection that is shown.
  private mutating func stage(_ new: SwapAttachment, _ decision: inout Decision) {
    if let shown, new.collection == shown.collection, !new.isGrouped {
      decision.steps.append(.adopt(new, by: shown))
      decision.actions += [.start(shown), .leave(new), .resolve(new, .unchanged)]
    } else {
      decision.actions.append(.attach(new))
      swap = Swap(new, .attaching(isFirst: false))
    }
  }

  /// Lets a new attachment take part in the swap of an attachment of the same collection.
  private mutating func share(_ new: SwapAttachment, in swap: Swap, _ decision: inout Decision) {
    decision.steps += [.adopt(new, by: swap.staged), .share(new, with: swap.staged)]
    decision.actions += [.start(swap.staged), .leave(new)]
    // The guard of the new attachment counts.
    if case .held(let contents) = swap.phase {
      beginDifference(to: contents, .holds, &decision)
    } else if case .comparing(let contents, .holds) = swap.phase {
      self.swap?.phase = .comparing(contents, .asksAgain)
    }
  }

  /// Shows the staged source if it can be shown, waits if it may wait, and abandons it if it
  /// failed.
  private mutating func evaluateReadiness(
    _ contents: SwapContents, mayWait: Bool, _ decision: inout Decision
  ) {
    guard let staged = swap?.staged else { return }
    if case .failed(let error) = contents.readiness {
      abandon(.failed(error), &decision)
    } else if contents.readiness == .loading, mayWait {
      swap?.phase = .loading
    } else if staged.isGrouped {
      decision.actions.append(.report(staged, .isReady))
      swap?.phase = .held(contents)
    } else {
      beginDifference(to: contents, .holds, &decision)
    }
  }

  private mutating func beginDifference(
    to contents: SwapContents, _ refusal: Refusal, _ decision: inout Decision
  ) {
    guard let staged = swap?.staged else { return }
    decision.steps.append(.beginDifference(staged))
    decision.actions.append(.computeDifference(staged, contents))
    swap?.phase = .comparing(contents, refusal)
  }

  /// Asks the guard of a held swap again, because a side has changed. A group asks all guards. A source that has failed
  /// before it has loaded is abandoned.
  private mutating func askAgain(_ contents: SwapContents, _ decision: inout Decision) {
    guard let staged = swap?.staged else { return }
    swap?.phase = .held(contents)
    if case .failed(let error) = contents.readiness {
      abandon(.failed(error), &decision)
    } else if staged.isGrouped {
      decision.actions.append(.report(staged, .hasChanged))
    } else {
      beginDifference(to: contents, .holds, &decision)
    }
  }

  /// Holds a swap whose difference is not shown: the updates of both sources that were withheld pass, and both go on.
  ///
  /// - Returns: The latest contents of the new source.
  private mutating func resumeBoth(
    _ swap: Swap, _ contents: SwapContents, _ decision: inout Decision
  ) -> SwapContents {
    replay(swap.withheldOfShown, &decision)
    if !swap.withheldOfStaged.isEmpty { decision.actions.append(.discardContents(contents)) }
    discard(swap.withheldOfStaged, &decision)
    let latest = contents.updated(by: swap.withheldOfStaged)
    self.swap = Swap(swap.staged, .held(latest))
    return latest
  }

  /// Commits the difference and the updates that came meanwhile, and leaves the source that was shown.
  private mutating func show(
    _ swap: Swap, _ contents: SwapContents, _ difference: Changeset?, _ tickets: [Ticket],
    _ decision: inout Decision
  ) {
    // Transactions over the old source end with this commit, because the rest of them may be shown elsewhere.
    let tickets = tickets + contents.tickets + swap.withheldOfShown.flatMap(\.tickets)
    decision.steps.append(.show(contents, difference, tickets))
    if !swap.withheldOfStaged.isEmpty { decision.steps.append(.replay(swap.withheldOfStaged)) }
    if let shown { decision.actions.append(.leave(shown)) }
    discard(swap.withheldOfShown, &decision)
    decision.actions.append(.deliver)
    hasLoaded = ([contents] + swap.withheldOfStaged.map(\.contents)).contains {
      $0.readiness == .loaded
    }
    (shown, self.swap) = (swap.staged, nil)
  }

  /// Ends the wait of flushes. They are woken after everything else.
  private func endDifference(of attachment: SwapAttachment, _ decision: inout Decision) {
    decision.steps.append(.endDifference(attachment))
    decision.actions.append(.wakeWaiters)
  }

  /// Ends the open swap, if there is one, without showing its source.
  private mutating func abandon(_ outcome: SwapHandle.Outcome, _ decision: inout Decision) {
    guard let swap else { return }
    self.swap = nil
    decision.actions += [.leave(swap.staged), .resolve(swap.staged, outcome)]
    discard(swap.withheldOfStaged, &decision)
    if let contents = swap.phase.contents {
      // Its change may be the pending one.
      decision.steps.append(.clearPendingChange)
      decision.actions += [.discardContents(contents), .deliver]
    }
    if isClosed {
      discard(swap.withheldOfShown, &decision)
    } else {
      replay(swap.withheldOfShown, &decision)
    }
    if case .agreed = swap.phase { endDifference(of: swap.staged, &decision) }
  }

  /// Commits updates of the shown source.
  private mutating func replay(_ updates: [SwapUpdate], _ decision: inout Decision) {
    guard !updates.isEmpty else { return }
    if updates.contains(where: { $0.contents.readiness == .loaded }) { hasLoaded = true }
    decision.steps.append(.replay(updates))
    decision.actions.append(.deliver)
  }

  private func discard(_ updates: [SwapUpdate], _ decision: inout Decision) {
    if !updates.isEmpty { decision.actions.append(.discardUpdates(updates)) }
  }
}
