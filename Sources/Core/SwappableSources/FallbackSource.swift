public import Diffing
public import ObservableCollections
public import ReactiveSignals
import SwappablePrimitives

/// A data source that shows the first of several sources that works.
///
///     let prices = FallbackSource([live, mirror, cache])
///     let observation = prices.observe { event in … }
///     let choices = prices.shown.observe { choice in … }   // source 1, since 35.0 seconds
///
/// A source is *healthy* if it has loaded, and its status is neither `failed` nor `missing`. A source that loads again
/// stays healthy, or failed, until it has loaded or failed. An empty list that has loaded is good contents.
///
/// - At first, the first source in order that is healthy is shown, as soon as there is one. A better source that loads for
///   the first time, and has never failed, takes over at once.
/// - If the shown source fails, its last good contents stay for a while. If it has not recovered by then, the first source
///   in order that is healthy takes over. If there is none, the contents stay until a source is healthy.
/// - A better source that recovers from a failure takes over when it has been healthy for a while without interruption.
///
/// When another source takes over, observers receive at most one change: the difference between the contents of both
/// sources. A source that has not loaded, or has failed, never takes over (rule G4 of the event contract).
///
/// The status is the status of the shown source. As long as no source has been healthy, the status is `loading`. If all
/// sources have failed by then, it is the status of the first one.
///
/// The sources are started together with the fallback source. From then on, all of them are alive and
/// up to date. Observers are called on the thread on which a source changes, or on which the clock wakes. You can call all
/// methods on any thread.
public final class FallbackSource<Element: Differentiable & Sendable>: DataSource {
  public let collection: LiveCollection<Element>
  /// The source that is shown, or `nil` if none has been healthy yet.
  ///
  /// An observer of the contents reads the source that the contents come from. Observing the property keeps the sources
  /// alive, but does not start them.
  public let shown: ReadOnlyProperty<Choice?>
  private let control: FallbackControl<Element>

  /// A source that is shown, and since when.
  public struct Choice: Sendable, Hashable, CustomStringConvertible {
    /// The offset of the source among the sources of the fallback source. The best source has offset 0.
    public let offset: Int
    /// The moment when the source was chosen, as the time since the fallback source was created.
    public let since: Duration

    /// The source and the time, for people.
    public var description: String { "source \(offset), since \(since)" }
  }

  /// Creates a source that shows one of several sources.
  ///
  /// A source may occur more than once. A source that is made from the fallback source cannot be among its sources.
  ///
  /// - Parameters:
  ///   - sources: The sources, the best one first. There must be at least one. Idle sources are started together
  ///     with the fallback source.
  ///   - fallingBackAfter: The time that a failure of the shown source lasts before another source takes over. It must be
  ///     at least zero.
  ///   - returningAfter: The time that a better source must have been healthy after a failure before it takes over from a
  ///     healthy source. It must be at least zero.
  ///   - clock: The clock that measures the time.
  public init(
    _ sources: [any DataSource<Element>], fallingBackAfter: Duration = .seconds(5),
    returningAfter: Duration = .seconds(30), clock: any Clock<Duration> = ContinuousClock()
  ) {
    precondition(!sources.isEmpty, "sources must contain at least 1 source, but is empty")
    precondition(
      fallingBackAfter >= .zero,
      "fallingBackAfter must be at least 0 seconds, but is \(fallingBackAfter)")
    precondition(
      returningAfter >= .zero, "returningAfter must be at least 0 seconds, but is \(returningAfter)"
    )
    let control = FallbackControl(
      sources,
      FallbackMachine(
        count: sources.count, fallingBackAfter: fallingBackAfter, returningAfter: returningAfter),
      AnyClock(clock))
    self.control = control
    // The collection keeps the control alive, so the collection follows the sources on its own.
    let collection = LiveCollection<Element>(
      control.container.collection.node, upstream: [control])
    self.collection = collection
    collection.describe(as: FallbackSource<Element>.self)
    shown = ReadOnlyProperty { inputs in
      // It is computed in the pass that delivers the contents of another source, or of an equal one.
      _ = inputs.collection(collection)
      _ = inputs.property(control.latestChoice)
      return ShownChoice(container: control.container)
    }
  }

  public func start() { control.start() }
}

/// The choice of the source that a container shows.
private struct ShownChoice<Element: Differentiable & Sendable>: PropertyOperator {
  let container: SwappableContainer<Element>

  func start() -> FallbackSource<Element>.Choice? { update() }

  func update() -> FallbackSource<Element>.Choice? {
    (container.source as? ChosenSource<Element>)?.choice
  }
}

/// A source as it is passed to the container, with its choice.
private final class ChosenSource<Element: Differentiable & Sendable>: DataSource {
  let source: any DataSource<Element>
  let choice: FallbackSource<Element>.Choice

  init(_ source: any DataSource<Element>, _ choice: FallbackSource<Element>.Choice) {
    (self.source, self.choice) = (source, choice)
  }

  var collection: LiveCollection<Element> { source.collection }
  func start() { source.start() }
}

/// Carries out the decisions of a fallback source's ``FallbackMachine``.
///
/// Reports arrive on any thread, also while another thread carries out a decision or inside its swap. The machine decides
/// under the lock. One thread at a time carries out what is due, without the lock, until nothing is due. Decisions that
/// have arrived meanwhile are one: the latest choice and the latest deadline count.
///
/// The machine chooses only sources that have loaded, and no source is made from the container. A swap is therefore done
/// when `swap(to:)` returns, with the outcome `swapped` or `unchanged`, also if the source fails meanwhile: the container
/// then shows the last good contents and the status of the source, and the machine has received the failure.
private final class FallbackControl<Element: Differentiable & Sendable>: Sendable {
  typealias Choice = FallbackSource<Element>.Choice

  let container: SwappableContainer<Element>
  /// The choice that was carried out last.
  let latestChoice = Property<Choice?>(nil)
  private let sources: [any DataSource<Element>]
  /// An empty collection that the container shows until a source has loaded.
  private let placeholder = ArrayDataSource<Element>(status: .idle)
  /// Measures the time since the fallback source was created.
  private let clock: AnyClock
  private let state: Locked<State>

  private struct State: Sendable {
    var machine: FallbackMachine
    /// The work that one thread carries out, or `nil` if there is none.
    var due: Due?
    var isCarryingOut = false
    var isStarted = false
    /// The observations of all sources.
    var observations: [Disposable] = []
    /// Set once, in the initializer.
    var alarm: Alarm?
  }

  private struct Due: Sendable {
    /// The source to show, or `nil` if the shown one stays.
    var choice: Choice?
    /// The time at which the machine must be asked again, or `nil` if there is none.
    var deadline: Duration?
    /// A Boolean value that indicates whether no source has been chosen so far.
    var isWaiting: Bool
  }

  init(_ sources: [any DataSource<Element>], _ machine: FallbackMachine, _ clock: AnyClock) {
    (self.sources, self.clock) = (sources, clock)
    state = Locked(State(machine: machine))
    container = SwappableContainer(placeholder)
    // A source that is a container cannot be swapped to a source that is made from this one. It would be a cycle as soon
    // as the container is chosen.
    for source in sources {
      _ = DependencyGraph.connect(container.collection.node, to: source.collection.node)
    }
    let alarm = Alarm(clock) { [weak self] alarm in
      self?.decide(at: alarm.now) { machine, now in machine.handle(timeIs: now) }
    }
    state.withLock { $0.alarm = alarm }
  }

  /// Observes the sources, which starts them.
  func start() {
    let isFirst = state.withLock { state in
      defer { state.isStarted = true }
      return !state.isStarted
    }
    guard isFirst else { return }
    let observations = sources.indices.map { offset in
      sources[offset].observeState { [weak self] state in
        self?.receive(FallbackMachine.Report(state), from: offset)
      }
    }
    state.withLock { $0.observations = observations }
  }

  private func receive(_ report: FallbackMachine.Report, from offset: Int) {
    decide(at: clock.now.offset) { machine, now in machine.handle(report, of: offset, at: now) }
  }

  /// Lets the machine decide, and carries out what is due, unless another call does so.
  private func decide(
    at now: Duration,
    _ input: (inout FallbackMachine, Duration) -> FallbackMachine.Decision
  ) {
    let isBusy = state.withLock { state in
      let decision = input(&state.machine, now)
      let choice = decision.shown.map { Choice(offset: $0, since: state.machine.now) }
      state.due = Due(
        choice: choice ?? state.due?.choice, deadline: decision.deadline,
        isWaiting: state.machine.shown == nil)
      defer { state.isCarryingOut = true }
      return state.isCarryingOut
    }
    if isBusy { return }
    while let due = takeDue() { carryOut(due) }
  }

  private func takeDue() -> Due? {
    state.withLock { state in
      defer { state.due = nil }
      state.isCarryingOut = state.due != nil
      return state.due
    }
  }

  private func carryOut(_ due: Due) {
    if let deadline = due.deadline { state.withLock { $0.alarm }?.ring(at: deadline) }
    if let choice = due.choice {
      let swap = container.swap(to: ChosenSource(sources[choice.offset], choice))
      assert(
        [.swapped, .unchanged].contains(swap.outcomeIfKnown),
        "the container and the machine disagree: \(String(describing: swap.outcomeIfKnown))")
      latestChoice.value = choice
    } else if due.isWaiting {
      let statuses = sources.map { $0.collection.current.state.status }
      let haveFailed = statuses.allSatisfy { $0.error != nil }
      placeholder.setStatus(haveFailed ? statuses[0] : .loading)
    }
  }
}

extension FallbackMachine.Report {
  fileprivate init(_ state: CollectionState<some Differentiable & Sendable>) {
    self =
      if state.status.error != nil {
        .failed
      } else if state.status.state == .loaded {
        .loaded
      } else {
        state.hasLoaded ? .reloading : .loading
      }
  }
}
