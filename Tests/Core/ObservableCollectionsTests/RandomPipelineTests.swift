import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// Random pipelines of operators over several roots and parameters, compared with arrays (O1, O2, O6, O9, T12).
@Suite struct RandomPipelineTests {
  @Test(.reaches(Coverage.Cases(PipelineLink.names)))
  func `random pipelines equal what arrays give`()
    throws
  {
    let batches = TestRun.isLong ? 1_000_000 : 6_000
    let stepsPerRun = 40
    let first = TestRun.seed ?? 0
    for seed in first..<first + UInt64(batches / stepsPerRun) {
      var run = PipelineRun(seed: seed)
      try run.perform(stepsPerRun)
    }
  }

  @Test(.reaches(PipelineLink.operations))
  func `one operator of each kind equals what arrays give`() throws {
    let first = TestRun.seed ?? 0
    for seed in first..<first + (TestRun.isLong ? 1_000 : 24) {
      var run = PipelineRun(seed: seed, size: [3, 12, 40][Int(seed % 3)])
      try run.performEach(40)
    }
  }

  /// A draft edits nodes in place that no published list has.
  @Test(.reaches(.changes))
  func `random pipelines whose lists nobody keeps equal what arrays give`() throws {
    let first = TestRun.seed ?? 0
    for seed in first..<first + (TestRun.isLong ? 20_000 : 20) {
      var run = PipelineRun(
        seed: seed, size: 200 + Int(seed) * 37 % 500, editsPerStep: 1 + Int(seed % 5))
      try run.performUnkept(40)
    }
  }

  @Test(.reaches(.changes))
  func `random pipelines over results that come later settle at what arrays give`()
    async throws
  {
    for seed in (TestRun.seed ?? 0)..<(TestRun.seed ?? 0) + (TestRun.isLong ? 2_000 : 20) {
      var run = PipelineRun(seed: seed)
      try await run.performLater(20)
    }
  }
}

/// Roots, parameters and a pipeline over them, which are edited at random.
private struct PipelineRun {
  let seed: UInt64
  var editors: [RandomEditor<TestElement>]
  let roots: [ArrayDataSource<TestElement>]
  let parameters: [Property<Int>]
  var random: SeededGenerator
  /// Lists that follow the roots later, or `nil` if the pipeline begins with the roots.
  var laterInputs: [LiveCollection<TestElement>]?

  init(seed: UInt64, size: Int? = nil, editsPerStep: Int? = nil) {
    self.seed = seed
    random = SeededGenerator(seed: seed &+ 5_000_000)
    let sizes = [3, 12, 40, 300]
    editors = (0..<2).map { _ in UInt64(0) }.indices.map { index in
      RandomEditor(
        seed: seed &* 2 &+ UInt64(index),
        size: size ?? sizes[Int(seed / 3 + UInt64(index)) % sizes.count],
        editsPerStep: editsPerStep ?? (seed.isMultiple(of: 7) ? 40 : 4),
        allowsDuplicates: seed.isMultiple(of: 2))
    }
    var made: [ArrayDataSource<TestElement>] = []
    for index in editors.indices { made.append(ArrayDataSource(editors[index].makeElements())) }
    roots = made
    parameters = [Property(1), Property(2)]
  }

  mutating func perform(_ steps: Int) throws {
    let pipeline = makePipeline(depth: 1 + random.below(6))
    let recorder = RecordingObserver(pipeline.source, seed: seed)
    var late: RecordingObserver<TestElement>?
    let jobs = Log<@Sendable () -> Void>()
    let merged = RecordingObserver(
      pipeline.source, on: DeliveryScheduler { work in jobs.append(work) }, keeps: 3, seed: seed,
      expectsEveryRevision: false)
    let aggregates = seed.isMultiple(of: 5) ? AllAggregates(of: pipeline.source) : nil
    for step in 0..<steps {
      let count = recorder.eventCount
      try edit()
      let expected = Snapshot(pipeline.contents(world))
      try #require(
        pipeline.source.snapshot.hasSameContents(as: expected),
        "seed \(seed), step \(step): \(pipeline.text)")
      // A list that is made for a new element in a transaction may begin with a part of it (T12).
      let isOneEvent = recorder.eventCount <= count + 1 || pipeline.text.contains("ach: ")
      try #require(
        isOneEvent, "seed \(seed), step \(step): \(pipeline.text)")
      if let problem = aggregates?.problem {
        Issue.record("seed \(seed), step \(step): \(pipeline.text): \(problem)")
        return
      }
      if step == steps / 2 { late = RecordingObserver(pipeline.source, seed: seed) }
      if random.oneIn(5) { for job in jobs.exchange([]) { job() } }
    }
    for job in jobs.exchange([]) { job() }
    for recorder in [recorder, late, merged] { try recorder?.check(against: pipeline.source) }
  }

  /// Edits some roots and parameters in one transaction.
  private mutating func edit() throws {
    let kinds = 1 + random.below(15)
    try withTransaction {
      for index in roots.indices where kinds >> index & 1 != 0 {
        try editors[index].step(roots[index])
      }
      for (index, parameter) in parameters.enumerated() where kinds >> (index + 2) & 1 != 0 {
        parameter.value = random.below(5)
      }
    }
  }

  /// Edits the roots below one operator of each kind.
  mutating func performEach(_ steps: Int) throws {
    let inputs = roots.indices.map { index in
      Pipeline(source: roots[index], text: "roots[\(index)]") { $0.roots[index] }
    }
    let link = PipelineLink(input: inputs[0], parameter: parameters[0], index: 0, isLong: false)
    let pipelines = link.each(with: inputs[1])
    let recorders = pipelines.map { RecordingObserver($0.source, seed: seed) }
    for step in 0..<steps {
      try edit()
      for pipeline in pipelines {
        try #require(
          pipeline.source.snapshot.hasSameContents(as: Snapshot(pipeline.contents(world))),
          "seed \(seed), step \(step): \(pipeline.text)")
      }
    }
    for (pipeline, recorder) in zip(pipelines, recorders) {
      try recorder.check(against: pipeline.source)
      Coverage.note(recorder, of: pipeline.name)
    }
  }

  /// Edits one root at a time. The observers keep no lists.
  mutating func performUnkept(_ steps: Int) throws {
    // Removing all elements would leave short lists.
    for index in editors.indices {
      editors[index].kinds = RandomEdit.allCases.filter { $0 != .removeAll && $0 != .replace }
      while roots[index].count < editors[index].size / 2 {
        roots[index].append(editors[index].makeElement())
      }
    }
    let pipeline = makePipeline(depth: 1 + random.below(4))
    let folded = roots.map { FoldedList($0) } + [FoldedList(pipeline.source.collection)]
    for step in 0..<steps {
      let index = random.below(roots.count)
      try editors[index].step(roots[index])
      if random.oneIn(6) { parameters[random.below(2)].value = random.below(5) }
      let contents = world.roots + [pipeline.contents(world)]
      for (list, expected) in zip(folded, contents) {
        try #require(
          list.problem == nil && list.elements == expected,
          "seed \(seed), step \(step): \(pipeline.text): \(list.problem ?? "")")
      }
    }
    if let output = folded.last { Coverage.note(output.operations) }
  }

  /// Edits the roots of a pipeline that begins with asynchronous transforms, and waits for its last contents.
  mutating func performLater(_ steps: Int) async throws {
    let inputs = roots.map { root in
      root.mapAsync(concurrency: 3) { element in
        await Task.yield()
        return Self.later(element)
      }
    }
    laterInputs = inputs
    let pipeline = makePipeline(depth: 1 + random.below(4))
    let recorders = (inputs + [pipeline.source.collection]).map {
      RecordingObserver($0, keeps: 3, seed: seed, expectsEveryRevision: false)
    }
    for _ in 0..<steps {
      for index in roots.indices { try editors[index].step(roots[index]) }
      parameters[random.below(2)].value = random.below(5)
      for _ in 0..<random.below(3) { await Task.yield() }
    }
    // From here on, a list that has the expected contents keeps them.
    for input in inputs { await input.flush() }
    for (index, recorder) in recorders.dropLast().enumerated() {
      try await recorder.wait(forContents: world.roots[index])
    }
    await pipeline.source.flush()
    try #require(
      pipeline.source.snapshot.hasSameContents(as: Snapshot(pipeline.contents(world))),
      "seed \(seed): \(pipeline.text)")
    try recorders.last?.check(against: pipeline.source)
    if let recorder = recorders.last { Coverage.note(recorder) }
  }

  private static func later(_ element: TestElement) -> TestElement {
    TestElement(element.id, element.content + 1)
  }

  private var world: PipelineWorld {
    PipelineWorld(
      roots: roots.map { root in
        laterInputs == nil ? Array(root.snapshot) : root.snapshot.map(Self.later)
      }, parameters: parameters.map(\.value))
  }

  /// Creates a random pipeline. Its parts may share roots and parameters.
  private mutating func makePipeline(depth: Int) -> Pipeline {
    if depth == 0 {
      let index = random.below(roots.count)
      let source: any DataSource<TestElement> = laterInputs?[index] ?? roots[index]
      return Pipeline(source: source, text: "roots[\(index)]") { $0.roots[index] }
    }
    let input = makePipeline(depth: depth - 1)
    let index = random.below(parameters.count)
    let link = PipelineLink(
      input: input, parameter: parameters[index], index: index,
      isLong: input.contents(world).count > 200)
    let pipeline =
      // The numbers of the cases are about in proportion to the numbers of the operators.
      switch random.below(12) {
      case 0...2: link.simple(random.below(PipelineLink.simpleCount))
      case 3...4: link.grouping(random.below(PipelineLink.groupingCount))
      case 5: link.tree(random.below(PipelineLink.treeCount))
      case 6: link.timed(random.below(PipelineLink.timedCount))
      case 7...8:
        link.everyday(
          random.below(PipelineLink.everydayCount), with: makePipeline(depth: random.below(3)))
      default:
        link.combined(
          random.below(PipelineLink.combinedCount), with: makePipeline(depth: random.below(3)))
      }
    if let name = pipeline.name { Coverage.note(name) }
    return pipeline
  }
}
