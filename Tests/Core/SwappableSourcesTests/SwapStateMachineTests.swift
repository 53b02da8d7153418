import DataSourceTesting
import Diffing
import Foundation
import ObservableCollections
import ReactiveSignals
import SwappableSources
import Testing

private typealias Machine = SwapStateMachine

// The value of contents and updates is a text. Its first letter is the readiness: loaded, waiting or
// failed.

private func readiness(of text: String) -> SwapReadiness {
  switch text.first {
  case "L": .loaded
  case "W": .loading
  default: .failed(SourceError(code: "gone", message: "the source is gone"))
  }
}

private func contents(_ text: String) -> SwapContents {
  SwapContents(value: text, readiness(of: text))
}

private func updates(_ texts: String...) -> [SwapUpdate] {
  texts.map { SwapUpdate(value: $0, readiness(of: $0)) }
}

/// Every cell of the table of states and inputs.
@Suite struct SwapStateMachineTests {
  private enum StateKind: CaseIterable {
    case empty, starting, showing, attaching, loading, comparing, held, agreed, closed
  }

  private enum InputKind: CaseIterable {
    case start, swap, attached, update, compared, compare, commit, rollBack, abandon, close
  }

  /// The attachment of an input: 1 is shown, 2 is staged, 7 is staged in a group, and 4 was left or never attached.
  private enum Role: Int, CaseIterable {
    case shown = 1
    case staged = 2
    case grouped = 7
    case stranger = 4
  }

  private enum Readiness: String, CaseIterable {
    case loaded = "L"
    case waiting = "W"
    case failed = "F"
  }

  private let ticket = Ticket()

  // MARK: States and inputs

  private func states(_ kind: StateKind) -> [Machine] {
    let (shown, staged, grouped) = (numbered(1), numbered(2), numbered(7))
    func machine(
      over shown: SwapAttachment?, _ staged: SwapAttachment, _ phase: Machine.Phase,
      ofShown: [SwapUpdate] = [], ofStaged: [SwapUpdate] = [], hasLoaded: Bool = true
    ) -> Machine {
      Machine(
        shown: shown,
        swap: .init(staged, phase, withheldOfShown: ofShown, withheldOfStaged: ofStaged),
        hasLoaded: hasLoaded)
    }
    let old = contents("L0")
    switch kind {
    case .empty: return [Machine()]
    case .starting:
      return [
        machine(over: nil, staged, .attaching(isFirst: true)),
        machine(over: nil, staged, .attaching(isFirst: true), ofStaged: updates("W1", "L2")),
      ]
    case .showing: return [Machine(shown: shown, hasLoaded: true)]
    case .attaching:
      let attaching = Machine.Phase.attaching(isFirst: false)
      return [
        machine(over: nil, staged, attaching),
        machine(over: shown, staged, attaching),
        machine(over: shown, staged, attaching, ofStaged: updates("W1", "L2")),
        machine(over: shown, grouped, attaching, ofStaged: updates("L2")),
        machine(over: shown, staged, attaching, ofStaged: updates("W1", "F2"), hasLoaded: false),
      ]
    case .loading:
      return [
        machine(over: nil, staged, .loading), machine(over: shown, staged, .loading),
        machine(over: shown, grouped, .loading),
      ]
    case .comparing:
      return [
        machine(over: nil, staged, .comparing(old, .holds)),
        machine(
          over: shown, staged, .comparing(old, .holds), ofShown: updates("L5", "L6"),
          ofStaged: updates("L1", "L2")),
        machine(over: shown, staged, .comparing(old, .asksAgain)),
        machine(over: shown, staged, .comparing(old, .isIgnored), ofShown: updates("L5")),
        machine(
          over: shown, grouped, .comparing(old, .holds), ofShown: updates("L5"),
          ofStaged: updates("L1")),
      ]
    case .held:
      return [
        machine(over: nil, staged, .held(old)), machine(over: shown, staged, .held(old)),
        machine(over: shown, grouped, .held(old)),
      ]
    case .agreed:
      return [
        machine(over: nil, grouped, .agreed(old, nil)),
        machine(
          over: shown, grouped, .agreed(old, Changeset(insertions: [0])), ofShown: updates("L5"),
          ofStaged: updates("L1")),
      ]
    case .closed: return [Machine(isClosed: true)]
    }
  }

  private func inputs(_ kind: InputKind) -> [Machine.Input] {
    let new = [3, 11, 12].map(numbered)
    switch kind {
    case .start: return new.map { .start($0) }
    case .swap:
      return (new + [16, 17, 18].map(numbered)).map { .swap($0, isCycle: false) }
        + [.swap(numbered(3), isCycle: true)]
    case .attached:
      return Role.allCases.flatMap { role in
        Readiness.allCases.flatMap { readiness in
          [false, true].map {
            .attached(
              numbered(role.rawValue), contents(readiness.rawValue + "0"), isDerivedFromShown: $0)
          }
        }
      }
    case .update:
      return Role.allCases.flatMap { role in
        Readiness.allCases.flatMap { readiness in
          updates(readiness.rawValue + "7").map { .update(numbered(role.rawValue), $0) }
        }
      }
    case .compared:
      return Role.allCases.flatMap { role in
        [Changeset(insertions: [0]), nil].flatMap { difference in
          [nil, "too much"].map {
            .compared(numbered(role.rawValue), difference, refusal: $0)
          }
        }
      }
    case .compare:
      return Role.allCases.flatMap { role in
        [false, true].map { .compare(numbered(role.rawValue), isAccepted: $0) }
      }
    case .commit: return Role.allCases.map { .commit(numbered($0.rawValue), ticket) }
    case .rollBack: return Role.allCases.map { .rollBack(numbered($0.rawValue)) }
    case .abandon: return Role.allCases.map { .abandon(numbered($0.rawValue), .cancelled) }
    case .close: return [.close]
    }
  }

  // Each description switches over all cases, so a new state or input does not compile unless it is
  // added to the enumerations above.

  private func kind(of machine: Machine) -> StateKind {
    switch machine.swap?.phase {
    case nil: machine.isClosed ? .closed : machine.shown == nil ? .empty : .showing
    case .attaching(let isFirst): isFirst ? .starting : .attaching
    case .loading: .loading
    case .comparing: .comparing
    case .held: .held
    case .agreed: .agreed
    }
  }

  private func kind(of input: Machine.Input) -> InputKind {
    switch input {
    case .start: .start
    case .swap: .swap
    case .attached: .attached
    case .update: .update
    case .compared: .compared
    case .compare: .compare
    case .commit: .commit
    case .rollBack: .rollBack
    case .abandon: .abandon
    case .close: .close
    }
  }

  private func text(_ machine: Machine) -> String {
    guard let swap = machine.swap else {
      return machine.isClosed ? "closed" : machine.shown.map { "showing \($0.number)" } ?? "empty"
    }
    let (ofShown, ofStaged) = (
      "[\(text(swap.withheldOfShown))]", "[\(text(swap.withheldOfStaged))]"
    )
    let (number, over) = (
      swap.staged.number,
      machine.shown.map { " over \($0.number)" + (machine.hasLoaded ? "" : " unloaded") } ?? ""
    )
    return switch swap.phase {
    case .attaching(let isFirst):
      (isFirst ? "starting" : "attaching") + " \(number)\(over) \(ofStaged)"
    case .loading: "loading \(number)\(over)"
    case .comparing(let contents, let refusal):
      "comparing \(number) \(text(contents))\(over) \(ofShown) \(ofStaged)\(text(refusal))"
    case .held(let contents): "held \(number) \(text(contents))\(over)"
    case .agreed(let contents, let difference):
      "agreed \(number) \(text(contents)) \(text(difference))\(over) \(ofShown) \(ofStaged)"
    }
  }

  private func text(_ refusal: Machine.Refusal) -> String {
    switch refusal {
    case .holds: ""
    case .asksAgain: " again"
    case .isIgnored: " accepted"
    }
  }

  private func text(_ contents: SwapContents) -> String { contents.value() }

  private func text(_ updates: [SwapUpdate]) -> String {
    updates.map { $0.value() }.joined(separator: " ")
  }

  private func text(_ difference: Changeset?) -> String { difference == nil ? "equal" : "d" }

  private func text(_ input: Machine.Input) -> String {
    switch input {
    case .start(let first): "start \(first.number)"
    case .swap(let new, let isCycle): "swap \(new.number)" + (isCycle ? " cycle" : "")
    case .attached(let attachment, let contents, let isDerived):
      "attached \(attachment.number) \(text(contents))" + (isDerived ? " derived" : "")
    case .update(let attachment, let update): "update \(attachment.number) \(text([update]))"
    case .compared(let attachment, let difference, let reason):
      "compared \(attachment.number) \(text(difference))" + (reason == nil ? "" : " refused")
    case .compare(let attachment, let isAccepted):
      (isAccepted ? "accept" : "compare") + " \(attachment.number)"
    case .commit(let attachment, _): "commit \(attachment.number)"
    case .rollBack(let attachment): "back \(attachment.number)"
    case .abandon(let attachment, _): "cancel \(attachment.number)"
    case .close: "close"
    }
  }

  private func text(_ decision: Machine.Decision) -> String {
    let parts = [decision.steps.map(text), decision.actions.map(text)]
      .filter { !$0.isEmpty }.map { $0.joined(separator: ", ") }
    return parts.isEmpty ? "nothing" : parts.joined(separator: " / ")
  }

  private func text(_ step: Machine.Step) -> String {
    switch step {
    case .show(let contents, let difference, let tickets):
      "show \(text(contents)) \(text(difference))" + (tickets.isEmpty ? "" : " together")
    case .replay(let updates): "replay \(text(updates))"
    case .adopt(let new, let attachment): "adopt \(new.number) by \(attachment.number)"
    case .share(let new, let staged): "share \(new.number) with \(staged.number)"
    case .setPendingChange(let attachment, let contents, let difference, _):
      "hold \(attachment.number) \(text(contents)) \(text(difference))"
    case .clearPendingChange: "release"
    case .beginDifference(let attachment): "begin \(attachment.number)"
    case .endDifference(let attachment): "end \(attachment.number)"
    }
  }

  private func text(_ action: Machine.Action) -> String {
    switch action {
    case .attach(let attachment): "attach \(attachment.number)"
    case .attachFirst(let attachment): "attach first \(attachment.number)"
    case .start(let attachment): "start \(attachment.number)"
    case .computeDifference(let attachment, let contents):
      "compute \(attachment.number) \(text(contents))"
    case .leave(let attachment): "leave \(attachment.number)"
    case .endObservation(let attachment): "end observation \(attachment.number)"
    case .supersede(let staged, let new): "supersede \(staged.number) by \(new.number)"
    case .report(let attachment, let report): "\(attachment.number) \(text(report))"
    case .resolve(let attachment, let outcome): "\(attachment.number) is \(text(outcome))"
    case .deliver: "deliver"
    case .wakeWaiters: "wake"
    case .discardUpdates(let updates): "discard \(text(updates))"
    case .discardContents(let contents): "discard contents \(text(contents))"
    }
  }

  private func text(_ report: Machine.Report) -> String {
    switch report {
    case .isReady: "is ready"
    case .hasChanged: "has changed"
    case .agrees(let hasDifference): "agrees \(hasDifference ? "d" : "equal")"
    case .isRefused: "is refused"
    }
  }

  private func text(_ outcome: SwapHandle.Outcome) -> String {
    switch outcome {
    case .swapped: "swapped"
    case .unchanged: "unchanged"
    case .superseded: "superseded"
    case .cancelled: "canceled"
    case .failed: "failed"
    case .cycle: "a cycle"
    }
  }

  // MARK: The table

  /// A heading is a state. A line has one or more inputs, the next state, and the decision with its
  /// steps before the slash and its actions after it. In an input, `#` is any attachment, `?` is any
  /// readiness, and `*` is anything; `#` and `?` may occur again in the result.
  private static let table = """
    empty
      accept #, compare #, commit #, back #: same | nothing
      start #: starting # [] | attach first #
      swap #: attaching # [] | attach #
      swap 3 cycle: same | 3 is a cycle
      attached # *: same | end observation #
      update # *, cancel #: same | nothing
      compared # *: same | end # / wake
      close: closed | nothing

    starting 2 []
      accept #, compare #, commit #, back #: same | nothing
      swap 3, swap 11, swap 16, swap 18, swap 17, start 3, start 11: attaching # [] | leave 2, 2 is superseded, attach #
      swap 12, start 12: same | adopt 12 by 2, share 12 with 2 / start 2, leave 12
      swap 3 cycle: same | 3 is a cycle
      attached 1 *, attached 4 *, attached 7 *: same | end observation #
      attached 2 *: showing 2 | 2 is swapped
      update 1 *, update 4 *, update 7 *, cancel 1, cancel 4, cancel 7: same | nothing
      update 2 ?7: starting 2 [?7] | nothing
      compared # *: same | end # / wake
      cancel 2: empty | leave 2, 2 is canceled
      close: closed | leave 2, 2 is canceled

    starting 2 [W1 L2]
      accept #, compare #, commit #, back #: same | nothing
      swap 3, swap 11, swap 16, swap 18, swap 17, start 3, start 11: attaching # [] | \
            leave 2, 2 is superseded, discard W1 L2, attach #
      swap 12, start 12: same | adopt 12 by 2, share 12 with 2 / start 2, leave 12
      swap 3 cycle: same | 3 is a cycle
      attached 1 *, attached 4 *, attached 7 *: same | end observation #
      attached 2 *: showing 2 | replay W1 L2 / deliver, 2 is swapped
      update 1 *, update 4 *, update 7 *, cancel 1, cancel 4, cancel 7: same | nothing
      update 2 ?7: starting 2 [W1 L2 ?7] | nothing
      compared # *: same | end # / wake
      cancel 2: empty | leave 2, 2 is canceled, discard W1 L2
      close: closed | leave 2, 2 is canceled, discard W1 L2

    showing 1
      accept #, compare #, commit #, back #: same | nothing
      swap 3, swap 12, swap 16, swap 18, swap 17, start 3, start 12: attaching # over 1 [] | attach #
      swap 11, start 11: same | adopt 11 by 1 / start 1, leave 11, 11 is unchanged
      swap 3 cycle: same | 3 is a cycle
      attached 1 *: same | nothing
      attached 2 *, attached 4 *, attached 7 *: same | end observation #
      update 1 ?7: same | replay ?7 / deliver
      update 2 *, update 4 *, update 7 *, cancel #: same | nothing
      compared # *: same | end # / wake
      close: closed | leave 1

    attaching 2 []
      accept #, compare #, commit #, back #: same | nothing
      swap 3, swap 11, swap 16, swap 18, swap 17, start 3, start 11: attaching # [] | leave 2, 2 is superseded, attach #
      swap 12, start 12: same | adopt 12 by 2, share 12 with 2 / start 2, leave 12
      swap 3 cycle: same | 3 is a cycle
      attached 1 *, attached 4 *, attached 7 *: same | end observation #
      attached 2 L0, attached 2 L0 derived: comparing 2 L0 [] [] | begin 2 / compute 2 L0
      attached 2 W0: loading 2 | nothing
      attached 2 W0 derived: comparing 2 W0 [] [] | begin 2 / compute 2 W0
      attached 2 F0, attached 2 F0 derived: empty | leave 2, 2 is failed
      update 1 *, update 4 *, update 7 *, cancel 1, cancel 4, cancel 7: same | nothing
      update 2 ?7: attaching 2 [?7] | nothing
      compared # *: same | end # / wake
      cancel 2: empty | leave 2, 2 is canceled
      close: closed | leave 2, 2 is canceled

    attaching 2 over 1 []
      accept #, compare #, commit #, back #: same | nothing
      swap 3, swap 16, swap 18, swap 17, start 3: attaching # over 1 [] | leave 2, 2 is superseded, attach #
      swap 11, start 11: showing 1 | adopt 11 by 1 / \
            leave 2, 2 is superseded, start 1, leave 11, 11 is unchanged
      swap 12, start 12: same | adopt 12 by 2, share 12 with 2 / start 2, leave 12
      swap 3 cycle: same | 3 is a cycle
      attached 1 *: same | nothing
      attached 4 *, attached 7 *: same | end observation #
      attached 2 L0, attached 2 L0 derived: comparing 2 L0 over 1 [] [] | begin 2 / compute 2 L0
      attached 2 W0: loading 2 over 1 | nothing
      attached 2 W0 derived: comparing 2 W0 over 1 [] [] | begin 2 / compute 2 W0
      attached 2 F0, attached 2 F0 derived: showing 1 | leave 2, 2 is failed
      update 1 ?7: same | replay ?7 / deliver
      update 2 ?7: attaching 2 over 1 [?7] | nothing
      update 4 *, update 7 *, cancel 1, cancel 4, cancel 7: same | nothing
      compared # *: same | end # / wake
      cancel 2: showing 1 | leave 2, 2 is canceled
      close: closed | leave 1, leave 2, 2 is canceled

    attaching 2 over 1 [W1 L2]
      accept #, compare #, commit #, back #: same | nothing
      swap 3, swap 16, swap 18, swap 17, start 3: attaching # over 1 [] | leave 2, 2 is superseded, discard W1 L2, attach #
      swap 11, start 11: showing 1 | adopt 11 by 1 / \
            leave 2, 2 is superseded, discard W1 L2, start 1, leave 11, 11 is unchanged
      swap 12, start 12: same | adopt 12 by 2, share 12 with 2 / start 2, leave 12
      swap 3 cycle: same | 3 is a cycle
      attached 1 *: same | nothing
      attached 4 *, attached 7 *: same | end observation #
      attached 2 *: comparing 2 L2 over 1 [] [] | begin 2 / discard W1 L2, compute 2 L2
      update 1 ?7: same | replay ?7 / deliver
      update 2 ?7: attaching 2 over 1 [W1 L2 ?7] | nothing
      update 4 *, update 7 *, cancel 1, cancel 4, cancel 7: same | nothing
      compared # *: same | end # / wake
      cancel 2: showing 1 | leave 2, 2 is canceled, discard W1 L2
      close: closed | leave 1, leave 2, 2 is canceled, discard W1 L2

    attaching 2 over 1 unloaded [W1 F2]
      accept #, compare #, commit #, back #: same | nothing
      swap 3, swap 16, swap 18, swap 17, start 3: attaching # over 1 unloaded [] | \
            leave 2, 2 is superseded, discard W1 F2, attach #
      swap 11, start 11: showing 1 | adopt 11 by 1 / \
            leave 2, 2 is superseded, discard W1 F2, start 1, leave 11, 11 is unchanged
      swap 12, start 12: same | adopt 12 by 2, share 12 with 2 / start 2, leave 12
      swap 3 cycle: same | 3 is a cycle
      attached 1 *: same | nothing
      attached 4 *, attached 7 *: same | end observation #
      attached 2 ?0: showing 1 | discard W1 F2, leave 2, 2 is failed
      attached 2 ?0 derived: comparing 2 F2 over 1 unloaded [] [] | begin 2 / discard W1 F2, compute 2 F2
      update 1 L7: attaching 2 over 1 [W1 F2] | replay L7 / deliver
      update 1 W7: same | replay W7 / deliver
      update 1 F7: same | replay F7 / deliver
      update 2 ?7: attaching 2 over 1 unloaded [W1 F2 ?7] | nothing
      update 4 *, update 7 *, cancel 1, cancel 4, cancel 7: same | nothing
      compared # *: same | end # / wake
      cancel 2: showing 1 | leave 2, 2 is canceled, discard W1 F2
      close: closed | leave 1, leave 2, 2 is canceled, discard W1 F2

    loading 2
      accept #, compare #, commit #, back #: same | nothing
      swap 3, swap 11, swap 16, swap 18, swap 17, start 3, start 11: attaching # [] | leave 2, 2 is superseded, attach #
      swap 12, start 12: same | adopt 12 by 2, share 12 with 2 / start 2, leave 12
      swap 3 cycle: same | 3 is a cycle
      attached 1 *, attached 4 *, attached 7 *: same | end observation #
      attached 2 *, update 1 *, update 4 *, update 7 *, cancel 1, cancel 4, cancel 7: same | nothing
      update 2 L7: comparing 2 L7 [] [] | begin 2 / compute 2 L7
      update 2 W7: same | nothing
      update 2 F7: empty | leave 2, 2 is failed
      compared # *: same | end # / wake
      cancel 2: empty | leave 2, 2 is canceled
      close: closed | leave 2, 2 is canceled

    loading 2 over 1
      accept #, compare #, commit #, back #: same | nothing
      swap 3, swap 16, swap 18, swap 17, start 3: attaching # over 1 [] | leave 2, 2 is superseded, attach #
      swap 11, start 11: showing 1 | adopt 11 by 1 / \
            leave 2, 2 is superseded, start 1, leave 11, 11 is unchanged
      swap 12, start 12: same | adopt 12 by 2, share 12 with 2 / start 2, leave 12
      swap 3 cycle: same | 3 is a cycle
      attached 1 *, attached 2 *, update 4 *, update 7 *, cancel 1, cancel 4, cancel 7: same | nothing
      attached 4 *, attached 7 *: same | end observation #
      update 1 ?7: same | replay ?7 / deliver
      update 2 L7: comparing 2 L7 over 1 [] [] | begin 2 / compute 2 L7
      update 2 W7: same | nothing
      update 2 F7: showing 1 | leave 2, 2 is failed
      compared # *: same | end # / wake
      cancel 2: showing 1 | leave 2, 2 is canceled
      close: closed | leave 1, leave 2, 2 is canceled

    comparing 2 L0 [] []
      swap 3, swap 11, swap 16, swap 18, swap 17, start 3, start 11: attaching # [] | \
            release / leave 2, 2 is superseded, discard contents L0, deliver, attach #
      swap 12, start 12: comparing 2 L0 [] [] again | \
            adopt 12 by 2, share 12 with 2 / start 2, leave 12
      swap 3 cycle: same | 3 is a cycle
      attached 1 *, attached 4 *, attached 7 *: same | end observation #
      attached 2 *, update 1 *, update 4 *, update 7 *, cancel 1, cancel 4, cancel 7: same | nothing
      update 2 ?7: comparing 2 L0 [] [?7] | nothing
      compared 1 *, compared 4 *, compared 7 *: same | end # / wake
      compared 2 d: showing 2 | show L0 d, end 2 / deliver, 2 is swapped, wake
      compared 2 equal: showing 2 | show L0 equal, end 2 / deliver, 2 is unchanged, wake
      compared 2 d refused: held 2 L0 | hold 2 L0 d, end 2 / deliver, 2 is refused, wake
      compared 2 equal refused: held 2 L0 | hold 2 L0 equal, end 2 / deliver, 2 is refused, wake
      accept 2: comparing 2 L0 [] [] accepted | nothing
      compare #, accept 1, accept 4, accept 7, commit #, back #: same | nothing
      cancel 2: empty | release / leave 2, 2 is canceled, discard contents L0, deliver
      close: closed | release / leave 2, 2 is canceled, discard contents L0, deliver

    comparing 2 L0 over 1 [L5 L6] [L1 L2]
      swap 3, swap 16, swap 18, swap 17, start 3: attaching # over 1 [] | release, replay L5 L6 / \
            leave 2, 2 is superseded, discard L1 L2, discard contents L0, deliver, deliver, attach #
      swap 11, start 11: showing 1 | release, replay L5 L6, adopt 11 by 1 / \
            leave 2, 2 is superseded, discard L1 L2, discard contents L0, deliver, deliver, \
            start 1, leave 11, 11 is unchanged
      swap 12, start 12: comparing 2 L0 over 1 [L5 L6] [L1 L2] again | \
            adopt 12 by 2, share 12 with 2 / start 2, leave 12
      swap 3 cycle: same | 3 is a cycle
      attached 1 *, attached 2 *, update 4 *, update 7 *, cancel 1, cancel 4, cancel 7: same | nothing
      attached 4 *, attached 7 *: same | end observation #
      update 1 ?7: comparing 2 L0 over 1 [L5 L6 ?7] [L1 L2] | nothing
      update 2 ?7: comparing 2 L0 over 1 [L5 L6] [L1 L2 ?7] | nothing
      compared 1 *, compared 4 *, compared 7 *: same | end # / wake
      compared 2 d: showing 2 | show L0 d, replay L1 L2, end 2 / \
            leave 1, discard L5 L6, deliver, 2 is swapped, wake
      compared 2 equal: showing 2 | show L0 equal, replay L1 L2, end 2 / \
            leave 1, discard L5 L6, deliver, 2 is unchanged, wake
      compared 2 d refused, compared 2 equal refused: comparing 2 L2 over 1 [] [] | replay L5 L6 / \
            deliver, discard contents L0, discard L1 L2, compute 2 L2
      accept 2: comparing 2 L0 over 1 [L5 L6] [L1 L2] accepted | nothing
      compare #, accept 1, accept 4, accept 7, commit #, back #: same | nothing
      cancel 2: showing 1 | release, replay L5 L6 / \
            leave 2, 2 is canceled, discard L1 L2, discard contents L0, deliver, deliver
      close: closed | release / \
            leave 1, leave 2, 2 is canceled, discard L1 L2, discard contents L0, deliver, \
            discard L5 L6

    comparing 2 L0 over 1 [] [] again
      swap 3, swap 16, swap 18, swap 17, start 3: attaching # over 1 [] | \
            release / leave 2, 2 is superseded, discard contents L0, deliver, attach #
      swap 11, start 11: showing 1 | release, adopt 11 by 1 / \
            leave 2, 2 is superseded, discard contents L0, deliver, \
            start 1, leave 11, 11 is unchanged
      swap 12, start 12: same | adopt 12 by 2, share 12 with 2 / start 2, leave 12
      swap 3 cycle: same | 3 is a cycle
      attached 1 *, attached 2 *, update 4 *, update 7 *, cancel 1, cancel 4, cancel 7: same | nothing
      attached 4 *, attached 7 *: same | end observation #
      update 1 ?7: comparing 2 L0 over 1 [?7] [] again | nothing
      update 2 ?7: comparing 2 L0 over 1 [] [?7] again | nothing
      compared 1 *, compared 4 *, compared 7 *: same | end # / wake
      compared 2 d: showing 2 | show L0 d, end 2 / leave 1, deliver, 2 is swapped, wake
      compared 2 equal: showing 2 | show L0 equal, end 2 / leave 1, deliver, 2 is unchanged, wake
      compared 2 d refused, compared 2 equal refused: \
            comparing 2 L0 over 1 [] [] | compute 2 L0
      accept 2: comparing 2 L0 over 1 [] [] accepted | nothing
      compare #, accept 1, accept 4, accept 7, commit #, back #: same | nothing
      cancel 2: showing 1 | release / leave 2, 2 is canceled, discard contents L0, deliver
      close: closed | release / leave 1, leave 2, 2 is canceled, discard contents L0, deliver

    comparing 2 L0 over 1 [L5] [] accepted
      swap 3, swap 16, swap 18, swap 17, start 3: attaching # over 1 [] | release, replay L5 / \
            leave 2, 2 is superseded, discard contents L0, deliver, deliver, attach #
      swap 11, start 11: showing 1 | release, replay L5, adopt 11 by 1 / \
            leave 2, 2 is superseded, discard contents L0, deliver, deliver, \
            start 1, leave 11, 11 is unchanged
      swap 12, start 12: same | adopt 12 by 2, share 12 with 2 / start 2, leave 12
      swap 3 cycle: same | 3 is a cycle
      attached 1 *, attached 2 *, update 4 *, update 7 *, cancel 1, cancel 4, cancel 7: same | nothing
      attached 4 *, attached 7 *: same | end observation #
      update 1 ?7: comparing 2 L0 over 1 [L5 ?7] [] accepted | nothing
      update 2 ?7: comparing 2 L0 over 1 [L5] [?7] accepted | nothing
      compared 1 *, compared 4 *, compared 7 *: same | end # / wake
      compared 2 d, compared 2 d refused: showing 2 | show L0 d, end 2 / \
            leave 1, discard L5, deliver, 2 is swapped, wake
      compared 2 equal, compared 2 equal refused: showing 2 | show L0 equal, end 2 / \
            leave 1, discard L5, deliver, 2 is unchanged, wake
      accept #, compare #, commit #, back #: same | nothing
      cancel 2: showing 1 | release, replay L5 / \
            leave 2, 2 is canceled, discard contents L0, deliver, deliver
      close: closed | release / \
            leave 1, leave 2, 2 is canceled, discard contents L0, deliver, discard L5

    held 2 L0
      swap 3, swap 11, swap 16, swap 18, swap 17, start 3, start 11: attaching # [] | \
            release / leave 2, 2 is superseded, discard contents L0, deliver, attach #
      swap 12, start 12: comparing 2 L0 [] [] | \
            adopt 12 by 2, share 12 with 2, begin 2 / start 2, leave 12, compute 2 L0
      swap 3 cycle: same | 3 is a cycle
      attached 1 *, attached 4 *, attached 7 *: same | end observation #
      attached 2 *, update 1 *, update 4 *, update 7 *, cancel 1, cancel 4, cancel 7: same | nothing
      update 2 L7, update 2 W7: comparing 2 ?7 [] [] | begin 2 / discard contents L0, compute 2 ?7
      update 2 F7: empty | release / discard contents L0, leave 2, 2 is failed, discard contents F7, deliver
      compared # *: same | end # / wake
      accept 2: comparing 2 L0 [] [] accepted | begin 2 / compute 2 L0
      compare 2: comparing 2 L0 [] [] | begin 2 / compute 2 L0
      accept 1, accept 4, accept 7, compare 1, compare 4, compare 7, commit #, back #: same | nothing
      cancel 2: empty | release / leave 2, 2 is canceled, discard contents L0, deliver
      close: closed | release / leave 2, 2 is canceled, discard contents L0, deliver

    held 2 L0 over 1
      swap 3, swap 16, swap 18, swap 17, start 3: attaching # over 1 [] | \
            release / leave 2, 2 is superseded, discard contents L0, deliver, attach #
      swap 11, start 11: showing 1 | release, adopt 11 by 1 / \
            leave 2, 2 is superseded, discard contents L0, deliver, \
            start 1, leave 11, 11 is unchanged
      swap 12, start 12: comparing 2 L0 over 1 [] [] | \
            adopt 12 by 2, share 12 with 2, begin 2 / start 2, leave 12, compute 2 L0
      swap 3 cycle: same | 3 is a cycle
      attached 1 *, attached 2 *, update 4 *, update 7 *, cancel 1, cancel 4, cancel 7: same | nothing
      attached 4 *, attached 7 *: same | end observation #
      update 1 ?7: comparing 2 L0 over 1 [] [] | replay ?7, begin 2 / deliver, compute 2 L0
      update 2 L7, update 2 W7: comparing 2 ?7 over 1 [] [] | begin 2 / discard contents L0, compute 2 ?7
      update 2 F7: showing 1 | release / discard contents L0, leave 2, 2 is failed, discard contents F7, deliver
      compared # *: same | end # / wake
      accept 2: comparing 2 L0 over 1 [] [] accepted | begin 2 / compute 2 L0
      compare 2: comparing 2 L0 over 1 [] [] | begin 2 / compute 2 L0
      accept 1, accept 4, accept 7, compare 1, compare 4, compare 7, commit #, back #: same | nothing
      cancel 2: showing 1 | release / leave 2, 2 is canceled, discard contents L0, deliver
      close: closed | release / leave 1, leave 2, 2 is canceled, discard contents L0, deliver

    attaching 7 over 1 [L2]
      accept #, compare #, commit #, back #: same | nothing
      swap #, start #: same | supersede 7 by #
      swap 3 cycle: same | 3 is a cycle
      attached 2 *, attached 4 *: same | end observation #
      attached 1 *: same | nothing
      attached 7 *: held 7 L2 over 1 | discard L2, 7 is ready
      update 1 ?7: same | replay ?7 / deliver
      update 7 ?7: attaching 7 over 1 [L2 ?7] | nothing
      update 2 *, update 4 *, cancel 1, cancel 2, cancel 4: same | nothing
      compared # *: same | end # / wake
      cancel 7: showing 1 | leave 7, 7 is canceled, discard L2
      close: closed | leave 1, leave 7, 7 is canceled, discard L2

    loading 7 over 1
      accept #, compare #, commit #, back #: same | nothing
      swap #, start #: same | supersede 7 by #
      swap 3 cycle: same | 3 is a cycle
      attached 2 *, attached 4 *: same | end observation #
      attached 1 *, attached 7 *: same | nothing
      update 1 ?7: same | replay ?7 / deliver
      update 7 L7: held 7 L7 over 1 | 7 is ready
      update 7 W7: same | nothing
      update 7 F7: showing 1 | leave 7, 7 is failed
      update 2 *, update 4 *, cancel 1, cancel 2, cancel 4: same | nothing
      compared # *: same | end # / wake
      cancel 7: showing 1 | leave 7, 7 is canceled
      close: closed | leave 1, leave 7, 7 is canceled

    comparing 7 L0 over 1 [L5] [L1]
      swap #, start #: same | supersede 7 by #
      swap 3 cycle: same | 3 is a cycle
      attached 2 *, attached 4 *: same | end observation #
      attached 1 *, attached 7 *: same | nothing
      update 1 ?7: comparing 7 L0 over 1 [L5 ?7] [L1] | nothing
      update 7 ?7: comparing 7 L0 over 1 [L5] [L1 ?7] | nothing
      update 2 *, update 4 *, cancel 1, cancel 2, cancel 4: same | nothing
      compared 1 *, compared 2 *, compared 4 *: same | end # / wake
      compared 7 d: agreed 7 L0 d over 1 [L5] [L1] | 7 agrees d
      compared 7 equal: agreed 7 L0 equal over 1 [L5] [L1] | 7 agrees equal
      compared 7 d refused, compared 7 equal refused: comparing 7 L1 over 1 [] [] | replay L5 / \
            deliver, discard contents L0, discard L1, compute 7 L1
      accept 7: comparing 7 L0 over 1 [L5] [L1] accepted | nothing
      accept 1, accept 2, accept 4, compare #, commit #, back #: same | nothing
      cancel 7: showing 1 | release, replay L5 / \
            leave 7, 7 is canceled, discard L1, discard contents L0, deliver, deliver
      close: closed | release / \
            leave 1, leave 7, 7 is canceled, discard L1, discard contents L0, deliver, discard L5

    held 7 L0 over 1
      swap #, start #: same | supersede 7 by #
      swap 3 cycle: same | 3 is a cycle
      attached 2 *, attached 4 *: same | end observation #
      attached 1 *, attached 7 *: same | nothing
      update 1 ?7: same | replay ?7 / deliver, 7 has changed
      update 7 L7, update 7 W7: held 7 ?7 over 1 | discard contents L0, 7 has changed
      update 7 F7: showing 1 | release / discard contents L0, leave 7, 7 is failed, discard contents F7, deliver
      update 2 *, update 4 *, cancel 1, cancel 2, cancel 4: same | nothing
      compared # *: same | end # / wake
      compare 7: comparing 7 L0 over 1 [] [] | begin 7 / compute 7 L0
      accept 7: comparing 7 L0 over 1 [] [] accepted | begin 7 / compute 7 L0
      accept 1, accept 2, accept 4, compare 1, compare 2, compare 4, commit #, back #: same | nothing
      cancel 7: showing 1 | release / leave 7, 7 is canceled, discard contents L0, deliver
      close: closed | release / leave 1, leave 7, 7 is canceled, discard contents L0, deliver

    agreed 7 L0 equal [] []
      swap #, start #: same | supersede 7 by #
      swap 3 cycle: same | 3 is a cycle
      attached 1 *, attached 2 *, attached 4 *: same | end observation #
      attached 7 *: same | nothing
      update 7 ?7: agreed 7 L0 equal [] [?7] | nothing
      update 1 *, update 2 *, update 4 *, cancel 1, cancel 2, cancel 4: same | nothing
      compared # *: same | end # / wake
      commit 7: showing 7 | show L0 equal together, end 7 / deliver, wake
      back 7: held 7 L0 | release, end 7 / deliver, wake
      accept #, compare #, commit 1, commit 2, commit 4, back 1, back 2, back 4: same | nothing
      cancel 7: empty | release, end 7 / leave 7, 7 is canceled, discard contents L0, deliver, wake
      close: closed | release, end 7 / leave 7, 7 is canceled, discard contents L0, deliver, wake

    agreed 7 L0 d over 1 [L5] [L1]
      swap #, start #: same | supersede 7 by #
      swap 3 cycle: same | 3 is a cycle
      attached 2 *, attached 4 *: same | end observation #
      attached 1 *, attached 7 *: same | nothing
      update 1 ?7: agreed 7 L0 d over 1 [L5 ?7] [L1] | nothing
      update 7 ?7: agreed 7 L0 d over 1 [L5] [L1 ?7] | nothing
      update 2 *, update 4 *, cancel 1, cancel 2, cancel 4: same | nothing
      compared # *: same | end # / wake
      commit 7: showing 7 | show L0 d together, replay L1, end 7 / \
            leave 1, discard L5, deliver, wake
      back 7: held 7 L1 over 1 | release, replay L5, end 7 / \
            deliver, discard contents L0, discard L1, deliver, wake, 7 has changed
      accept #, compare #, commit 1, commit 2, commit 4, back 1, back 2, back 4: same | nothing
      cancel 7: showing 1 | release, replay L5, end 7 / \
            leave 7, 7 is canceled, discard L1, discard contents L0, deliver, deliver, wake
      close: closed | release, end 7 / \
            leave 1, leave 7, 7 is canceled, discard L1, discard contents L0, deliver, discard L5, wake

    closed
      accept #, compare #, commit #, back #: same | nothing
      swap #, start #: same | leave #, # is canceled
      swap 3 cycle: same | 3 is a cycle
      attached # *: same | end observation #
      update # *, cancel #, close: same | nothing
      compared # *: same | end # / wake
    """

  private struct Line {
    let inputs: [String]
    let result: String

    init(_ text: Substring) {
      let parts = text.split(separator: ": ", maxSplits: 1)
      inputs = parts[0].split(separator: ",").map(Self.trimmed)
      result = Self.trimmed(parts[1])
    }

    private static func trimmed(_ text: Substring) -> String {
      text.split(separator: " ").joined(separator: " ")
    }

    /// Returns the result for an input, or nil if this line is about other inputs.
    func result(for input: String) -> String? {
      inputs.lazy.compactMap { match($0, input) }.first
    }

    private func match(_ pattern: String, _ input: String) -> String? {
      let words = input.split(separator: " ")
      var result = result.replacing("#", with: words.dropFirst().first ?? "")
      if let readiness = words.last?.first { result.replace("?", with: String(readiness)) }
      let expected = pattern.split(separator: " ")
      for (index, word) in expected.enumerated() {
        if word == "*" { return result }
        guard index < words.count else { return nil }
        let isEqual =
          word == words[index] || word == "#"
          || (word.first == "?" && word.dropFirst() == words[index].dropFirst())
        if !isEqual { return nil }
      }
      return expected.count == words.count ? result : nil
    }
  }

  private let lines: [String: [Line]] = {
    var lines: [String: [Line]] = [:]
    var state = ""
    for text in table.split(separator: "\n") {
      if text.first == " " {
        lines[state, default: []].append(Line(text))
      } else {
        state = String(text)
      }
    }
    return lines
  }()

  @Test func `each state and input leads to the state and the decision in the table`() {
    for state in StateKind.allCases.flatMap(states) {
      for input in InputKind.allCases.flatMap(inputs) {
        let cell = "\(text(state)), \(text(input))"
        let results = (lines[text(state)] ?? []).compactMap { $0.result(for: text(input)) }
        #expect(results.count == 1, "lines for \(cell)")
        var machine = state
        let decision = machine.handle(input)
        let isSame = text(machine) == text(state)
        let result = "\(isSame ? "same" : text(machine)) | \(text(decision))"
        #expect(result == results.first, "\(cell)")
      }
    }
  }

  @Test func `no cell of the table is missing or superfluous`() {
    for kind in StateKind.allCases {
      #expect(!states(kind).isEmpty)
      for state in states(kind) { #expect(self.kind(of: state) == kind) }
    }
    for kind in InputKind.allCases {
      #expect(!inputs(kind).isEmpty)
      for input in inputs(kind) { #expect(self.kind(of: input) == kind) }
    }
    #expect(Set(lines.keys) == Set(StateKind.allCases.flatMap(states).map(text)))
    let inputs = InputKind.allCases.flatMap(inputs).map { text($0) }
    for (state, lines) in lines {
      for line in lines {
        #expect(inputs.contains { line.result(for: $0) != nil }, "\(state): \(line.inputs)")
      }
    }
  }

  @Test func `an action that is answered by an input is the last of its decision`() {
    for state in StateKind.allCases.flatMap(states) {
      for input in InputKind.allCases.flatMap(inputs) {
        var machine = state
        let answered = machine.handle(input).actions.dropLast().filter {
          switch $0 {
          case .attach, .attachFirst, .computeDifference, .supersede: true
          default: false
          }
        }
        #expect(answered.isEmpty, "\(text(state)), \(text(input))")
      }
    }
  }

  @Test func `a new machine shows nothing until it starts`() {
    var machine = Machine()
    #expect(text(machine) == "empty")
    #expect(text(machine.handle(.start(numbered(2)))) == "attach first 2")
    #expect(text(machine) == "starting 2 []")
  }
}
