import DataSourceTesting
import Diffing
import Foundation
import ObservableCollections
import ReactiveSignals
import SwappableSources
import TestSupport
import TestTags
import Testing

/// A version of the contents of one collection.
private struct Version: Hashable, Sendable {
  let collection: Int
  var number: Int
  var readiness: SwapReadiness
}

extension Version {
  fileprivate var contents: SwapContents { SwapContents(value: self, readiness) }
  fileprivate var update: SwapUpdate { SwapUpdate(value: self, readiness) }
}

private typealias Machine = SwapStateMachine

/// A container and its sources, without threads: each answer to an action comes at a random time.
private final class Walk {
  private var random: SeededGenerator
  private var machine = Machine()
  private var collections: [Version] = []
  private var requested: [Int] = []

  /// The attachments whose action `attach` is open, with the contents once they are observed.
  private var attaching: [(attachment: Int, contents: Version?)] = []
  private var computing: [Int] = []
  private var observed: Set<Int> = []

  /// The shown contents, and the attachments that are connected and not left.
  private var visible: Version? {
    didSet { hasShownLoaded = hasShownLoaded || visible?.readiness == .loaded }
  }
  /// A Boolean value that indicates whether the shown source has loaded.
  private var hasShownLoaded = false
  private var connected: Set<Int> = []
  private var left: Set<Int> = []
  private var outcomes: [Int: SwapHandle.Outcome] = [:]
  private var shared: [Int: Int] = [:]
  private var waiting: Set<Int> = []
  /// The attachment whose change is pending.
  private var held: Int?
  private(set) var violations: [String] = []
  private(set) var counts: [String: Int] = [:]

  init(seed: UInt64) {
    random = SeededGenerator(seed: seed)
    collections = (0..<4).map {
      Version(collection: $0, number: 0, readiness: $0 < 2 ? .loaded : .loading)
    }
    if random.oneIn(2) {
      let first = makeAttachment(isGrouped: false)
      connected.insert(first)
      handle(.start(numbered(first)))
    }
  }

  func run(steps: Int) {
    for _ in 0..<steps where violations.isEmpty { step() }
    handle(.close)
    while violations.isEmpty, !attaching.isEmpty || !computing.isEmpty { answer() }
    expect(observed.isEmpty, "a source is observed after the end: \(observed)")
    expect(connected.isEmpty, "an attachment was not left: \(connected)")
    expect(waiting.isEmpty, "a flush waits forever for \(waiting)")
    for attachment in requested {
      expect(outcomes[shared[attachment] ?? attachment] != nil, "\(attachment) has no outcome")
    }
  }

  // MARK: Inputs

  private func makeAttachment(isGrouped: Bool) -> Int {
    let new = requested.count * 10 + random.below(4) + (isGrouped ? 5 : 0)
    requested.append(new)
    return new
  }

  private func step() {
    switch random.below(16) {
    case 0:
      let new = makeAttachment(isGrouped: random.oneIn(2))
      let isCycle = random.oneIn(8)
      if !isCycle { connected.insert(new) }
      handle(.swap(numbered(new), isCycle: isCycle))
    case 1:
      if let staged = machine.swap?.staged, random.oneIn(2) {
        let isCanceled = random.oneIn(2)
        handle(
          isCanceled ? .abandon(staged, .cancelled) : .compare(staged, isAccepted: true))
      }
    case 2:
      // The handles of swaps that are done, and updates that were under way when a source was left.
      guard let old = requested.randomElement(using: &random) else { return }
      if numbered(old) != machine.swap?.staged {
        let isCanceled = random.oneIn(2)
        handle(
          isCanceled
            ? .abandon(numbered(old), .cancelled) : .compare(numbered(old), isAccepted: true))
      }
      if numbered(old) != machine.swap?.staged, numbered(old) != machine.shown {
        handle(.update(numbered(old), collections[old % 5].update))
      }
    case 3...9:
      answer()
    case 10, 11:
      decideAsGroup()
    default:
      edit(random.below(4))
    }
  }

  /// Sends what the group of the staged attachment may send now.
  private func decideAsGroup() {
    guard let staged = machine.swap?.staged, staged.number % 10 >= 5 else { return }
    switch machine.swap?.phase {
    case .held: handle(.compare(staged, isAccepted: random.oneIn(3)))
    case .agreed:
      if random.oneIn(3) {
        handle(.rollBack(staged))
        counts["back", default: 0] += 1
      } else {
        handle(.commit(staged, Ticket()))
        counts["together", default: 0] += 1
      }
    default: break
    }
  }

  private func edit(_ index: Int) {
    collections[index].number += 1
    switch random.below(8) {
    case 0...2: collections[index].readiness = .loaded
    case 3: collections[index].readiness = .failed(SourceError(code: "gone", message: "gone"))
    case 4: collections[index].readiness = .loading
    default: break
    }
    for attachment in observed.sorted() where attachment % 5 == index {
      handle(.update(numbered(attachment), collections[index].update))
    }
  }

  /// Continues an open action.
  private func answer() {
    if !computing.isEmpty, random.oneIn(12) {
      let attachment = computing.remove(at: random.below(computing.count))
      if case .comparing = machine.swap?.phase, machine.swap?.staged != numbered(attachment) {
        counts["late", default: 0] += 1
      }
      let difference = random.oneIn(4) ? nil : Changeset(insertions: [0])
      let reason = random.oneIn(3) ? "too much" : nil
      handle(.compared(numbered(attachment), difference, refusal: reason))
    } else if !attaching.isEmpty {
      let index = random.below(attaching.count)
      let (attachment, contents) = attaching[index]
      if let contents {
        attaching.remove(at: index)
        let isDerived = random.oneIn(6)
        handle(
          .attached(numbered(attachment), contents.contents, isDerivedFromShown: isDerived))
      } else {
        attaching[index].contents = collections[attachment % 5]
        observed.insert(attachment)
      }
    }
  }

  // MARK: Decisions

  private func handle(_ input: Machine.Input) {
    let before = machine
    // The executor begins with the contents of the first source before it answers.
    if case .attached(let first, let contents, _) = input, before.swap?.staged == first,
      case .attaching(isFirst: true) = before.swap?.phase
    {
      visible = contents.value() as Version
    }
    Coverage.note(input.name)
    let decision = machine.handle(input)
    perform(decision, of: input)
    check(decision, from: before, input)
  }

  private func perform(_ decision: Machine.Decision, of input: Machine.Input) {
    for step in decision.steps {
      switch step {
      case .show(let contents, _, _):
        let shown: SwapAttachment
        switch input {
        case .compared(let compared, _, _): shown = compared
        case .commit(let committed, _): shown = committed
        default: return fail("shown by \(input)")
        }
        let (attachment, contents): (Int, Version) = (shown.number, contents.value())
        expect(outcomes[attachment] == nil, "\(attachment) is shown after its outcome")
        // The group resolves the handle.
        if case .commit = input { outcomes[attachment] = .swapped }
        expect(contents.collection == attachment % 5, "\(attachment) shows \(contents)")
        hasShownLoaded = false
        visible = contents
        held = nil
        counts["shown", default: 0] += 1
      case .setPendingChange(let attachment, let contents, _, _):
        expect(
          contents.value() as Version == collections[attachment.number % 5],
          "old contents are held")
        held = attachment.number
        counts["held", default: 0] += 1
      case .clearPendingChange: held = nil
      case .replay(let updates):
        for update in updates.map({ $0.value() as Version }) {
          expect(
            update.collection == visible?.collection && update.number - 1 == visible?.number,
            "\(update) follows \(visible as Any)")
          visible = update
        }
      case .adopt(let taken, let attachment), .share(let taken, let attachment):
        let (new, attachment) = (taken.number, attachment.number)
        expect(new % 5 == attachment % 5, "\(new) is not \(attachment)")
        if case .share = step { shared[new] = attachment }
      case .beginDifference(let attachment):
        expect(
          waiting.insert(attachment.number).inserted, "a second difference of \(attachment.number)")
      case .endDifference(let attachment):
        expect(waiting.remove(attachment.number) != nil, "no difference of \(attachment.number)")
      }
    }
    for action in decision.actions { perform(action) }
  }

  private func perform(_ action: Machine.Action) {
    switch action {
    case .attach(let attachment), .attachFirst(let attachment):
      attaching.append((attachment.number, nil))
    case .computeDifference(let attachment, let contents):
      let (attachment, contents): (Int, Version) = (attachment.number, contents.value())
      expect(contents.collection == attachment % 5, "\(attachment) has \(contents)")
      computing.append(attachment)
    case .leave(let leaving):
      let attachment = leaving.number
      expect(connected.remove(attachment) != nil, "\(attachment) is not connected")
      observed.remove(attachment)
      left.insert(attachment)
    case .endObservation(let leaving):
      let attachment = leaving.number
      expect(left.contains(attachment), "\(attachment) was not left")
      observed.remove(attachment)
    case .resolve(let resolved, let outcome):
      let attachment = resolved.number
      expect(shared[attachment] == nil, "\(attachment) shares an outcome and has another")
      expect(
        outcomes.updateValue(outcome, forKey: attachment) == nil,
        "\(attachment) has two outcomes")
      counts["\(outcome)".components(separatedBy: "(")[0], default: 0] += 1
    case .supersede(let staged, let new):
      connected.remove(new.number)
      if case .agreed = machine.swap?.phase, random.oneIn(2) { handle(.commit(staged, Ticket())) }
      handle(.abandon(staged, .superseded))
      connected.insert(new.number)
      handle(.swap(new, isCycle: false))
      counts["superseded group", default: 0] += 1
    case .start, .deliver, .wakeWaiters, .report, .discardUpdates, .discardContents:
      break
    }
  }

  // MARK: Invariants

  private func check(
    _ decision: Machine.Decision, from before: Machine, _ input: Machine.Input
  ) {
    // The decision was to do something else first, which was checked.
    if case .supersede = decision.actions.last { return }
    let (shown, staged) = (machine.shown?.number, machine.swap?.staged.number)
    expect(
      connected == Set([shown, staged].compactMap { $0 }),
      "attached are \(connected), not \(shown as Any) and \(staged as Any)")
    expect(shown == nil || outcomes[shown ?? 0] != nil, "an open swap is shown")
    expect(staged == nil || outcomes[staged ?? 0] == nil, "a swap with an outcome is staged")
    expect(machine.hasLoaded == hasShownLoaded, "good contents were shown: \(hasShownLoaded)")
    expect(held == nil || held == staged, "the change of \(held as Any) is pending")
    if case .held = machine.swap?.phase, let staged, staged % 10 < 5 {
      expect(held == staged, "no change is pending")
    }
    checkPending(decision, from: before)
    if isComparing(machine) { return }
    if let shown, visible != collections[shown % 5] {
      // Updates of one edit reach the observers of a collection one by one.
      expect(
        visible?.collection == shown % 5 && isBeingEdited(input),
        "\(visible as Any) is shown instead of \(collections[shown % 5])")
    }
  }

  private func isBeingEdited(_ input: Machine.Input) -> Bool {
    if case .update = input { true } else { false }
  }

  /// Rule S3: of the updates that came during a difference, one side is applied and one is dropped.
  private func checkPending(_ decision: Machine.Decision, from before: Machine) {
    let applied = decision.steps.flatMap { step -> [Version] in
      if case .replay(let updates) = step { versions(updates) } else { [] }
    }
    let dropped = decision.actions.flatMap { action -> [Version] in
      if case .discardUpdates(let updates) = action { versions(updates) } else { [] }
    }
    guard isComparing(before), let swap = before.swap else { return }
    let (ofShown, ofStaged) = (swap.withheldOfShown, swap.withheldOfStaged)
    let isShown = decision.steps.contains { if case .show = $0 { true } else { false } }
    if isComparing(machine) {
      // Nothing passes during a difference. If the guard is asked again, the updates of the shown source have passed.
      guard !applied.isEmpty || !dropped.isEmpty else { return }
      expect(applied == versions(ofShown), "\(applied) are applied")
      expect(dropped == versions(ofStaged), "\(dropped) are dropped")
      counts["again", default: 0] += 1
    } else if machine.isClosed {
      expect(applied.isEmpty, "updates are applied at the end")
      expect(dropped.count == ofShown.count + ofStaged.count, "updates are kept after the end")
    } else {
      expect(applied == versions(isShown ? ofStaged : ofShown), "\(applied) are applied")
      expect(dropped == versions(isShown ? ofShown : ofStaged), "\(dropped) are dropped")
      counts["pending", default: 0] += ofShown.count + ofStaged.count
    }
  }

  /// Returns whether a difference is being computed, or is not committed yet.
  private func isComparing(_ machine: Machine) -> Bool {
    switch machine.swap?.phase {
    case .comparing, .agreed: true
    case .attaching, .loading, .held, nil: false
    }
  }

  private func versions(_ updates: [SwapUpdate]) -> [Version] { updates.map { $0.value() } }

  private func expect(_ condition: Bool, _ message: @autoclosure () -> String) {
    if !condition { fail(message()) }
  }

  private func fail(_ message: String) {
    violations.append("\(message) (\(machine.swap?.phase as Any))")
  }
}

extension Machine.Input {
  /// The names of the kinds of inputs.
  fileprivate static let names = [
    "start", "swap", "cycle of a swap", "attached", "update", "compared", "refused difference",
    "compare", "commit", "step back", "abandon", "close",
  ]

  fileprivate var name: String {
    switch self {
    case .start: "start"
    case .swap(_, let isCycle): isCycle ? "cycle of a swap" : "swap"
    case .attached: "attached"
    case .update: "update"
    case .compared(_, _, let refusal): refusal == nil ? "compared" : "refused difference"
    case .compare: "compare"
    case .commit: "commit"
    case .rollBack: "step back"
    case .abandon: "abandon"
    case .close: "close"
    }
  }
}

@Suite struct SwapStateMachineWalkTests {
  /// The outcomes, and the parts of the table that a walk reaches.
  private static let parts = [
    "swapped", "unchanged", "superseded", "cancelled", "failed", "cycle", "shown", "pending",
    "late",
    "held", "again", "back", "together", "superseded group",
  ]

  @Test(.reaches(Coverage.Cases(Machine.Input.names), Coverage.Cases(parts)))
  func `random inputs keep the invariants`() {
    let first = TestRun.seed ?? .random(in: 0...99_999)
    let walks: UInt64 = TestRun.isLong ? 2_000 : 50
    print("swap state machine: SWAPPABLE_SEED=\(first), \(walks) walks")
    var counts: [String: Int] = [:]
    for seed in first..<first + walks {
      let walk = Walk(seed: seed)
      walk.run(steps: 400)
      #expect(walk.violations == [], "seed \(seed)")
      counts.merge(walk.counts, uniquingKeysWith: +)
    }
    print("swap state machine: \(counts.sorted { $0.key < $1.key })")
    for (name, count) in counts { Coverage.note(name, count) }
  }
}
