import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import Testing

/// Random pipelines of operators over several roots and parameters, compared with arrays (O1, O2, O6, O9, T12).
@Suite struct RandomPipelineTests {
  @Test func `random pipelines equal what arrays give`() throws {
    let batches = TestRun.isLong ? 1_000_000 : 10_000
    let stepsPerRun = 40
    let first = TestRun.seed ?? 0
    for seed in first..<first + UInt64(batches / stepsPerRun) {
      var run = PipelineRun(seed: seed)
      try run.perform(stepsPerRun)
    }
  }
}

/// The contents of the roots, and the values of the parameters.
private struct World {
  var roots: [[TestElement]]
  var parameters: [Int]
}

/// A pipeline, and its expected contents.
private struct Pipeline {
  let source: any DataSource<TestElement>
  let text: String
  let contents: @Sendable (World) -> [TestElement]
}

/// Roots, parameters and a pipeline over them, which are edited at random.
private struct PipelineRun {
  let seed: UInt64
  var editors: [RandomEditor<TestElement>]
  let roots: [CollectionProperty<TestElement>]
  let parameters: [Property<Int>]
  var random: SeededGenerator

  init(seed: UInt64) {
    self.seed = seed
    random = SeededGenerator(seed: seed &+ 5_000_000)
    let sizes = [3, 12, 40, 300]
    editors = (0..<2).map { _ in UInt64(0) }.indices.map { index in
      RandomEditor(
        seed: seed &* 2 &+ UInt64(index), size: sizes[Int(seed / 3 + UInt64(index)) % sizes.count],
        editsPerStep: seed.isMultiple(of: 7) ? 40 : 4, allowsDuplicates: seed.isMultiple(of: 2))
    }
    var made: [CollectionProperty<TestElement>] = []
    for index in editors.indices { made.append(CollectionProperty(editors[index].makeElements())) }
    roots = made
    parameters = [Property(1), Property(2)]
  }

  mutating func perform(_ steps: Int) throws {
    let pipeline = makePipeline(depth: 1 + random.below(6))
    let recorder = RecordingObserver(pipeline.source, seed: seed)
    let aggregates = seed.isMultiple(of: 5) ? AllAggregates(of: pipeline.source) : nil
    for step in 0..<steps {
      let count = recorder.eventCount
      let kinds = 1 + random.below(15)
      try withTransaction {
        for index in roots.indices where kinds >> index & 1 != 0 {
          try editors[index].step(roots[index])
        }
        for (index, parameter) in parameters.enumerated() where kinds >> (index + 2) & 1 != 0 {
          parameter.value = random.below(5)
        }
      }
      let expected = Snapshot(pipeline.contents(world))
      try #require(
        pipeline.source.snapshot.hasSameContents(as: expected),
        "seed \(seed), step \(step): \(pipeline.text)")
      try #require(
        recorder.eventCount <= count + 1, "seed \(seed), step \(step): \(pipeline.text)")
      if let problem = aggregates?.problem {
        Issue.record("seed \(seed), step \(step): \(pipeline.text): \(problem)")
        return
      }
    }
    try recorder.check(against: pipeline.source)
  }

  private var world: World {
    World(roots: roots.map { Array($0.snapshot) }, parameters: parameters.map(\.value))
  }

  /// Creates a random pipeline. Its parts may share roots and parameters.
  private mutating func makePipeline(depth: Int) -> Pipeline {
    if depth == 0 {
      let index = random.below(roots.count)
      return Pipeline(source: roots[index], text: "roots[\(index)]") { $0.roots[index] }
    }
    let input = makePipeline(depth: depth - 1)
    let (source, contents) = (input.source, input.contents)
    let index = random.below(parameters.count)
    let parameter = parameters[index]
    func next(
      _ text: String, _ output: LiveCollection<TestElement>,
      _ transform: @escaping @Sendable ([TestElement], Int) -> [TestElement]
    ) -> Pipeline {
      Pipeline(source: output, text: "\(input.text).\(text)") {
        transform(contents($0), $0.parameters[index])
      }
    }
    switch random.below(16) {
    case 0:
      return next("map", source.map { TestElement($0.id, $0.content + 1) }) { input, _ in
        input.map { TestElement($0.id, $0.content + 1) }
      }
    case 1:
      return next("filter", source.filter { $0.id % 3 != 0 }) { input, _ in
        input.filter { $0.id % 3 != 0 }
      }
    case 2:
      return next("compactMap", source.compactMap(halved)) { input, _ in input.compactMap(halved) }
    case 3:
      return next(
        "filter(by: \(index))", source.filter(by: parameter) { $0.content % 5 >= $1 }
      ) { input, limit in input.filter { $0.content % 5 >= limit } }
    case 4:
      return next(
        "filter(by: \(index), effect:)",
        source.filter(by: parameter, effect: { $1 >= $0 ? .narrowing : .widening }) {
          $0.id % 5 >= $1
        }
      ) { input, limit in input.filter { $0.id % 5 >= limit } }
    case 5:
      return next("sorted(by: content)", source.sorted(by: \.content)) { input, _ in
        stablySorted(input, .ascending(\.content))
      }
    case 6:
      return next("sorted", source.sorted { $0.id % 4 > $1.id % 4 }) { input, _ in
        stablySorted(input, .descending { $0.id % 4 })
      }
    case 7:
      return next("sorted(by: \(index))", source.sorted(by: parameter.map(order))) { input, kind in
        stablySorted(input, order(kind))
      }
    case 8: return next("reversed", source.reversed()) { input, _ in input.reversed() }
    case 9: return next("prefix", source.prefix(7)) { input, _ in Array(input.prefix(7)) }
    case 10:
      return next("prefix(\(index))", source.prefix(parameter.map { $0 * 6 })) { input, count in
        Array(input.prefix(count * 6))
      }
    case 11:
      return next("suffix(\(index))", source.suffix(parameter.map { $0 * 6 })) { input, count in
        Array(input.suffix(count * 6))
      }
    case 12:
      return next("dropFirst(\(index))", source.dropFirst(parameter)) { input, count in
        Array(input.dropFirst(count))
      }
    case 13:
      return next("window(\(index))", source.window(parameter.map { $0 * 4..<$0 * 5 + 3 })) {
        input, page in
        Array(input[(page * 4..<page * 5 + 3).clamped(to: 0..<input.count)])
      }
    default:
      let other = makePipeline(depth: random.below(2))
      let otherContents = other.contents
      return Pipeline(
        source: source.concatenated(with: other.source),
        text: "(\(input.text)).concatenated(\(other.text))"
      ) { contents($0) + otherContents($0) }
    }
  }
}

@Sendable private func halved(_ element: TestElement) -> TestElement? {
  element.content % 3 == 0 ? nil : TestElement(element.id / 2, element.content / 2)
}

@Sendable private func order(_ kind: Int) -> ElementOrder<TestElement> {
  switch kind {
  case 0: .ascending(\.content)
  case 1: .descending(\.content)
  case 2: ElementOrder.ascending(\.content).then(.descending(\.id))
  case 3: ElementOrder.ascending(\.content).reversed
  default: ElementOrder { $0.id % 3 < $1.id % 3 }
  }
}

@Sendable private func stablySorted(
  _ elements: [TestElement], _ order: ElementOrder<TestElement>
) -> [TestElement] {
  elements.enumerated().sorted { one, other in
    if order.precedes(one.element, other.element) { return true }
    return !order.precedes(other.element, one.element) && one.offset < other.offset
  }.map(\.element)
}
