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

  private var world: PipelineWorld {
    PipelineWorld(roots: roots.map { Array($0.snapshot) }, parameters: parameters.map(\.value))
  }

  /// Creates a random pipeline. Its parts may share roots and parameters.
  private mutating func makePipeline(depth: Int) -> Pipeline {
    if depth == 0 {
      let index = random.below(roots.count)
      return Pipeline(source: roots[index], text: "roots[\(index)]") { $0.roots[index] }
    }
    let input = makePipeline(depth: depth - 1)
    let index = random.below(parameters.count)
    let link = PipelineLink(
      input: input, parameter: parameters[index], index: index,
      isLong: input.contents(world).count > 200)
    switch random.below(6) {
    case 0: return link.simple(random.below(14))
    case 1: return link.grouping(random.below(7))
    case 2: return link.tree(random.below(6))
    case 3: return link.timed(random.below(5))
    default: return link.combined(random.below(9), with: makePipeline(depth: random.below(3)))
    }
  }
}
