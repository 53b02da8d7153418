import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import SwappableSources
import TestSupport
import Testing

/// Something that happens to one of three sources, or a time that passes.
private enum Step: Hashable {
  /// The source fails. It keeps its contents.
  case fail(Int)
  /// The source loads other contents.
  case load(Int)
  case pass(seconds: Int)

  /// The times are below both limits, and equal to each limit.
  static let all: [Step] =
    (0..<3).map { .fail($0) } + (0..<3).map { .load($0) } + [3, 5, 30].map { .pass(seconds: $0) }
}

/// Three sources and the one that is shown, second by second, for the limits 5 and 30 seconds.
private struct FallbackModel {
  struct Source {
    var contents: [TestElement] = []
    var hasLoaded = false
    var hasFailed = false
    var isFailing = false
    /// The seconds since it failed or recovered.
    var seconds = 0

    var isHealthy: Bool { hasLoaded && !isFailing }
  }

  var sources = Array(repeating: Source(), count: 3)
  var shown: Int?
  /// The number of times that the visible contents became others.
  var changeCount = 0

  var contents: [TestElement] { shown.map { sources[$0].contents } ?? [] }

  mutating func take(_ step: Step) {
    switch step {
    case .fail(let offset):
      if !sources[offset].isFailing { sources[offset].seconds = 0 }
      (sources[offset].isFailing, sources[offset].hasFailed) = (true, true)
      choose()
    case .load(let offset):
      if sources[offset].isFailing { sources[offset].seconds = 0 }
      (sources[offset].isFailing, sources[offset].hasLoaded) = (false, true)
      let version = (sources[offset].contents.last?.content ?? 0) + 1
      sources[offset].contents = [7, TestElement(offset, version)]
      if shown == offset { changeCount += 1 }
      choose()
    case .pass(let seconds):
      for _ in 0..<seconds {
        for offset in 0..<3 { sources[offset].seconds += 1 }
        choose()
      }
    }
  }

  private mutating func choose() {
    let old = shown
    let healthy = (0..<3).filter { sources[$0].isHealthy }
    if let shown {
      let isGivenUp = sources[shown].isFailing && sources[shown].seconds >= 5
      let better = healthy.first { $0 < shown && mayReturn(sources[$0]) }
      self.shown = (isGivenUp ? healthy.first : better) ?? shown
    } else {
      shown = healthy.first
    }
    if shown != old { changeCount += 1 }
  }

  private func mayReturn(_ source: Source) -> Bool { !source.hasFailed || source.seconds >= 30 }
}

/// The decisions of a fallback source, compared with a model that counts seconds (rule G4).
@Suite struct FallbackModelTests {
  private static let error = SourceError(code: "gone", message: "it is gone")

  @Test func `the machine shows what the model shows after each five steps`() {
    var count = 0
    for start in [[], [Step.load(0), .load(1), .load(2)]] {
      var run = MachineRun()
      for step in start { run.take(step) }
      count += run.fault(after: 5, start) { Issue.record("\($0)") }
    }
    #expect(count == 2 * 59_049)
  }

  @Test func `a time that is earlier than the previous one counts as the previous one`() {
    var machine = FallbackMachine(
      count: 2, fallingBackAfter: .seconds(5), returningAfter: .seconds(30))
    _ = machine.handle(.loaded, of: 0, at: .seconds(10))
    _ = machine.handle(.loaded, of: 1, at: .seconds(8))
    #expect(machine.handle(.failed, of: 0, at: .seconds(9)).deadline == .seconds(15))
    #expect(machine.handle(timeIs: .seconds(14)) == .init(deadline: .seconds(15)))
    #expect(machine.handle(timeIs: .seconds(15)) == .init(shown: 1))
    #expect(machine.handle(timeIs: .zero) == .init() && machine.now == .seconds(15))
  }

  /// A machine and a model that have taken the same steps.
  private struct MachineRun {
    var model = FallbackModel()
    var machine = FallbackMachine(
      count: 3, fallingBackAfter: .seconds(5), returningAfter: .seconds(30))
    var now = Duration.zero
    var deadline: Duration?

    mutating func take(_ step: Step) {
      model.take(step)
      switch step {
      case .fail(let offset):
        deadline = machine.handle(.failed, of: offset, at: now).deadline
      case .load(let offset):
        deadline = machine.handle(.loaded, of: offset, at: now).deadline
      case .pass(let seconds):
        now += .seconds(seconds)
        while let next = deadline, next <= now {
          deadline = machine.handle(timeIs: next).deadline
        }
      }
    }

    /// Takes each sequence of steps.
    ///
    /// - Returns: The number of sequences.
    func fault(after count: Int, _ steps: [Step], _ report: (String) -> Void) -> Int {
      if machine.shown != model.shown {
        report(
          "\(steps): \(String(describing: machine.shown)), not \(String(describing: model.shown))")
      }
      if count == 0 { return 1 }
      return Step.all.reduce(0) { sum, step in
        var next = self
        next.take(step)
        return sum + next.fault(after: count - 1, steps + [step], report)
      }
    }
  }

  /// An ordinary run takes one of four sequences of steps.
  @Test(arguments: [false, true])
  func `the source shows what the model shows after each four steps`(hasLoaded: Bool) throws {
    let start = hasLoaded ? [Step.load(0), .load(1), .load(2)] : []
    let stride = TestRun.isLong ? 1 : 4
    for (number, steps) in sequences(of: TestRun.isLong ? 5 : 4).enumerated()
    where number % stride == (hasLoaded ? 1 % stride : 0) {
      if let fault = try fault(in: start + steps) {
        Issue.record("\(start + steps): \(fault)")
        return
      }
    }
  }

  private func sequences(of count: Int) -> [[Step]] {
    if count == 0 { return [[]] }
    return sequences(of: count - 1).flatMap { steps in Step.all.map { steps + [$0] } }
  }

  private func fault(in steps: [Step]) throws -> String? {
    var model = FallbackModel()
    let clock = ManualClock()
    let sources = (0..<3).map { _ in Items(status: .loading) }
    let fallback = FallbackSource(sources, clock: clock)
    let recorder = RecordingObserver(fallback)
    for step in steps {
      model.take(step)
      switch step {
      case .fail(let offset): sources[offset].setStatus(.failed(Self.error))
      case .load(let offset):
        sources[offset].publish(model.sources[offset].contents, status: .loaded)
      case .pass(let seconds): clock.advance(by: .seconds(seconds))
      }
      let (state, shown) = (fallback.state, fallback.shown.value)
      if shown?.offset != model.shown { return "\(step): \(String(describing: shown))" }
      if !state.snapshot.elementsEqual(model.contents) { return "\(step): \(state.snapshot)" }
      if state.hasLoaded, state.snapshot.isEmpty { return "\(step): the good contents are gone" }
      if recorder.changes.count != model.changeCount {
        return "\(step): \(recorder.changes.count) changes, not \(model.changeCount)"
      }
      if state.status != status(in: model) { return "\(step): \(state.status)" }
    }
    try recorder.check(against: fallback)
    return nil
  }

  private func status(in model: FallbackModel) -> SourceStatus {
    if let shown = model.shown {
      return model.sources[shown].isFailing ? .failed(Self.error) : .loaded
    }
    return model.sources.allSatisfy(\.isFailing) ? .failed(Self.error) : .loading
  }
}
