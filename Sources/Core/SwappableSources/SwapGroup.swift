import Diffing
public import ObservableCollections
import ReactiveSignals
import SwappablePrimitives

/// Swaps the sources of several containers in one step.
///
///     swapTogether([prices.swapping(to: newPrices), products.swapping(to: newProducts)])
///
/// The containers show their old sources until all new sources have loaded. Then all of them change before any observer is
/// called, and an observer over several of the containers receives one event. If one source fails, if one guard refuses its
/// change, or if one of the containers is swapped again, none of them changes.
///
/// If a guard refuses, the container's ``SwappableContainer/pendingChange`` has the change. After each change of its
/// sources, and when the pending change is accepted, all guards are asked again. Rejecting it cancels all swaps.
///
/// A guard cannot be asked about a source that is made from another one of the containers, because it would be asked about
/// contents that the group changes. Nothing changes then, and the outcome is an error.
///
/// - Parameter swaps: The swaps. If two of them are of one container, nothing changes, and the outcome is an error.
/// - Returns: A handle that provides the outcome, which is the same for all containers, and can cancel the swaps.
/// - Complexity: The cost of one difference for each container.
@discardableResult
public func swapTogether(_ swaps: [SwapHandle.Request]) -> SwapHandle {
  SwapGroup.start(swaps)
}

extension SwappableContainer {
  /// Returns a request to swap to another source, for ``swapTogether(_:)``.
  ///
  /// - Parameters:
  ///   - source: The new source. If the source is idle, the container starts it.
  ///   - changeGuard: The guard that may refuse the change, or `nil` to show every change.
  public func swapping(
    to source: any DataSource<Element>, guardedBy changeGuard: ChangeGuard<Element>? = nil
  ) -> SwapHandle.Request {
    SwapHandle.Request(executor: executor) { [executor] group in
      executor.enter(group, with: source, guardedBy: changeGuard)
    }
  }
}

extension SwapHandle {
  /// A swap that happens together with others.
  ///
  /// ``SwappableContainer/swapping(to:guardedBy:)`` creates a request, and ``swapTogether(_:)`` carries it out.
  public struct Request: Sendable {
    let executor: any SwapGroupMember
    /// Connects the container to the new source, or returns `nil` if that would be a cycle.
    let enter: @Sendable (SwapGroup) -> SwapAttachment?
  }
}

/// A container that takes part in a group, without the type of its elements.
protocol SwapGroupMember: AnyObject, Sendable {
  var root: Node { get }
  /// Returns whether an attachment has a guard, and its source is made from one of some roots.
  func isGuarded(_ attachment: SwapAttachment, madeFrom roots: Set<ObjectIdentifier>) -> Bool
  /// Handles an input of the container's state machine.
  func handle(_ input: SwapStateMachine.Input)
  /// Takes the steps of an input. The caller then calls the closure, which performs the actions.
  func begin(_ input: SwapStateMachine.Input) -> () -> Void
  /// Counts a swap that is done, for explanations.
  func recordSwap(to attachment: SwapAttachment)
  /// Disconnects an attachment whose swap was not requested.
  func disconnect(_ attachment: SwapAttachment)
}

/// Swaps of several containers that become visible together or not at all (rule G3).
///
/// Each container keeps its own state machine, which reports to the group. When all sources have loaded, the group asks each
/// machine for its difference. If none is refused, all are committed with one ticket, which lets no domain deliver its part
/// until the last one is committed. If one is refused, the others step back, and the group asks again when something changes.
final class SwapGroup: @unchecked Sendable {
  // Sendable: the lock guards the variables, and `handle` is set before another thread has the group.

  /// One lock for all groups: if two groups swap one container, only one of them ends the other.
  private static let lock = Locked(())

  private struct Member {
    let attachment: SwapAttachment
    weak var executor: (any SwapGroupMember)?
    var isReady = false
    var isRefused = false
    var isAccepted = false
    var agrees = false
    /// A Boolean value that indicates whether a side has changed since the group began to compare.
    var hasChanged = false
  }

  private enum Phase {
    /// Not all sources have loaded.
    case loading
    /// A thread asks the members for their differences. If the result is outdated, it asks again.
    case comparing(isOutdated: Bool)
    /// A guard has refused a difference.
    case held
    /// All members agree, and are being committed.
    case committing(Ticket)
    case ended(SwapHandle.Outcome)
  }

  let handle: SwapHandle
  private var members: [Member] = []
  private var phase = Phase.loading
  private var hasDifference = false

  private init() {
    let box = WeakGroup()
    handle = SwapHandle { box.group?.end(.cancelled) }
    box.group = self
  }

  private func withLock<Result>(_ body: () -> Result) -> Result {
    Self.lock.withLock { _ in body() }
  }

  /// Requests the swaps.
  static func start(_ swaps: [SwapHandle.Request]) -> SwapHandle {
    let group = SwapGroup()
    guard Set(swaps.map { ObjectIdentifier($0.executor) }).count == swaps.count else {
      let message =
        "a container is named twice in one group of swaps; name each container once, with the source to show"
      group.handle.resolve(.failed(SourceError(code: "container-named-twice", message: message)))
      return group.handle
    }
    for swap in swaps {
      guard let attachment = swap.enter(group) else {
        for member in group.members { member.executor?.disconnect(member.attachment) }
        group.members = []
        group.handle.resolve(.cycle)
        return group.handle
      }
      group.members.append(Member(attachment: attachment, executor: swap.executor))
    }
    if swaps.isEmpty { group.handle.resolve(.unchanged) }
    for member in group.members { group.request(member) }
    return group.handle
  }

  private func request(_ member: Member) {
    if outcome == nil {
      member.executor?.handle(.swap(member.attachment, isCycle: false))
    } else {
      member.executor?.disconnect(member.attachment)
    }
    // It may have ended before the machine had the attachment.
    if let outcome { member.executor?.handle(.abandon(member.attachment, outcome)) }
  }

  private var outcome: SwapHandle.Outcome? {
    withLock { if case .ended(let outcome) = phase { outcome } else { nil } }
  }

  // MARK: Reports

  /// Receives a report of a member's state machine.
  func receive(_ report: SwapStateMachine.Report, of attachment: SwapAttachment) {
    let mustCompare = withLock {
      guard let index = members.firstIndex(where: { $0.attachment == attachment }) else {
        return false
      }
      switch report {
      case .isReady:
        members[index].isReady = true
        guard case .loading = phase, members.allSatisfy(\.isReady) else { return false }
        return beginComparing()
      case .hasChanged:
        members[index].hasChanged = true
        guard members[index].isRefused || members[index].isAccepted else { return false }
        members[index].isAccepted = false
        return beginComparing()
      case .agrees(let hasDifference):
        (members[index].agrees, members[index].isRefused) = (true, false)
        if hasDifference { self.hasDifference = true }
      case .isRefused:
        members[index].isRefused = true
        // A change may be reported before the refusal, for example if an observer of the pending change makes it.
        if members[index].hasChanged { return beginComparing() }
      }
      return false
    }
    if mustCompare { compareAll() }
  }

  /// Accepts the difference of a member that was refused. All other guards are asked again.
  func accept(_ attachment: SwapAttachment) {
    let mustCompare = withLock {
      guard let index = members.firstIndex(where: { $0.attachment == attachment }) else {
        return false
      }
      members[index].isAccepted = true
      return beginComparing()
    }
    if mustCompare { compareAll() }
  }

  /// Returns whether the caller must compare. If a thread compares already, it compares again.
  private func beginComparing() -> Bool {
    switch phase {
    case .loading, .held:
      phase = .comparing(isOutdated: false)
      return true
    case .comparing:
      phase = .comparing(isOutdated: true)
      return false
    case .committing, .ended:
      return false
    }
  }

  // MARK: Comparing and committing

  private func compareAll() {
    repeat {
      let members = withLock {
        hasDifference = false
        for index in self.members.indices {
          (self.members[index].agrees, self.members[index].hasChanged) = (false, false)
        }
        return self.members
      }
      let roots = Set(members.compactMap { ($0.executor?.root).map(ObjectIdentifier.init) })
      if members.contains(where: { $0.executor?.isGuarded($0.attachment, madeFrom: roots) == true })
      {
        let message =
          "the source of a guarded swap is made from another container of its group, so the guard would be asked "
          + "about contents that are not shown; guard the other container, or swap this one after the group"
        return _ = end(.failed(SourceError(code: "guard-in-group", message: message)))
      }
      for member in members {
        member.executor?.handle(.compare(member.attachment, isAccepted: member.isAccepted))
      }
      let ticket = withLock { () -> Ticket? in
        // If it is outdated, an acceptance may no longer hold.
        guard case .comparing(isOutdated: false) = phase, self.members.allSatisfy(\.agrees) else {
          return nil
        }
        let ticket = Ticket()
        phase = .committing(ticket)
        return ticket
      }
      if let ticket {
        commitAll(ticket)
        return endCommitting()
      }
      for member in members { member.executor?.handle(.rollBack(member.attachment)) }
    } while endComparing()
  }

  /// Returns whether the differences are outdated.
  private func endComparing() -> Bool {
    withLock {
      guard case .comparing(let isOutdated) = phase else { return false }
      phase = isOutdated ? .comparing(isOutdated: false) : .held
      return isOutdated
    }
  }

  /// Commits all members that are not committed. Several threads may do so at the same time.
  private func commitAll(_ ticket: Ticket) {
    let members = withLock { self.members }
    let rest = members.compactMap { $0.executor?.begin(.commit($0.attachment, ticket)) }
    ticket.close()
    for finish in rest { finish() }
  }

  private func endCommitting() {
    let (outcome, released) = withLock { () -> (SwapHandle.Outcome, [Member]) in
      let outcome: SwapHandle.Outcome = hasDifference ? .swapped : .unchanged
      defer { (phase, members) = (.ended(outcome), []) }
      return (outcome, members)
    }
    for member in released { member.executor?.recordSwap(to: member.attachment) }
    handle.resolve(outcome)
  }

  /// Abandons the swaps, unless they are being committed.
  ///
  /// - Parameters:
  ///   - outcome: The outcome of the group.
  ///   - other: The group that swaps one of the containers again.
  /// - Returns: `false` if the other group has ended.
  @discardableResult
  func end(_ outcome: SwapHandle.Outcome, inFavorOf other: SwapGroup? = nil) -> Bool {
    enum Next {
      case nothing, help(Ticket), abandon([Member])
    }
    let (next, isOther) = withLock { () -> (Next, Bool) in
      if case .ended = other?.phase { return (.nothing, false) }
      switch phase {
      case .ended:
        return (.nothing, true)
      case .committing(let ticket):
        return (.help(ticket), true)
      case .loading, .comparing, .held:
        defer { (phase, members) = (.ended(outcome), []) }
        return (.abandon(members), true)
      }
    }
    switch next {
    case .nothing: break
    case .help(let ticket): commitAll(ticket)
    case .abandon(let members):
      for member in members { member.executor?.handle(.abandon(member.attachment, outcome)) }
      handle.resolve(outcome)
    }
    return isOther
  }
}

/// A weak reference to a group that is being created.
private final class WeakGroup: @unchecked Sendable {
  // Sendable: it is set once, before another thread has it.
  weak var group: SwapGroup?
}
