public import ReactiveSignals

/// An explanation of a live list: the sources, operators and properties from which it is made.
///
///     let work = rows.countWork()
///     …
///     print(rows.explain())
///
/// The description shows the list first, and below each node the nodes from which it is made.
/// ``DataSource/explain()`` creates an explanation, which does not change later.
public struct LiveGraph: Sendable {
  /// The nodes. Each comes after all nodes from which it is made, so the explained list is the last one.
  public let nodes: [Node]

  /// A source, an operator, a container or a property.
  public struct Node: Sendable {
    /// The kind of node, such as `SQLiteDataSource`, `Filter`, `SwappableContainer` or `Property`.
    public let kind: String
    /// The name that ``DataSource/labeled(_:)`` has given to the node, or `nil`.
    public let label: String?
    /// The positions of the nodes from which this one is made, in ``LiveGraph/nodes``.
    public let inputs: [Int]
    /// The number of elements, or `nil` if the node is no collection.
    public let elementCount: Int?
    /// The number of observers of the contents and of the status.
    public let observerCount: Int
    /// The status, or `nil` if the node is no collection.
    public let status: SourceStatus?
    /// A Boolean value that indicates whether the node has ever held good contents, or `nil` if it is no collection.
    package let hasLoaded: Bool?
    /// The work of a source that reads, or of a container that swaps, or `nil`.
    public let source: Source?
    /// The work since ``DataSource/countWork()``, or `nil` if it is not counted.
    public let work: Work?
  }

  /// The work of a source or a container since it was created.
  public struct Source: Sendable {
    /// The place from which the source reads, such as a path.
    public let location: String?
    /// How the source follows changes: `incremental`, `refetch`, `notified`, `polling` or `streamed`.
    public let mode: String?
    /// The reason for the mode.
    public let reason: String?
    /// The number of times that the source has read, or that the container has swapped.
    public let loadCount: Int
    /// The time of all reads or swaps.
    public let loadTime: Duration
    /// The time of the last read or swap.
    public let lastLoadTime: Duration
    /// The time since the end of the last read or swap.
    let lastLoadAge: Duration
    /// The last error, even if the source has recovered since then.
    public let lastFault: String?
  }

  /// The work of a node since counting has begun.
  public struct Work: Sendable {
    /// The number of passes that have computed the node.
    public let passCount: Int
    /// The number of changes that the node has followed.
    public let changesIn: Int
    /// The number of elements of these changes.
    public let elementsIn: Int
    /// The number of changes that the node has made.
    public let changesOut: Int
    /// The number of elements of these changes.
    public let elementsOut: Int
    /// The time that it took to compute the node.
    public let time: Duration
    /// The time of immediate observers of the node.
    public let observerTime: Duration
    /// The time of the reads of a source.
    public let loadTime: Duration
  }

  /// The node that has taken the most time, together with its observers and its reads, or `nil` if no work is counted.
  public var slowest: Node? {
    nodes.filter { ($0.work?.totalTime ?? .zero) > .zero }
      .max { $0.work?.totalTime ?? .zero < $1.work?.totalTime ?? .zero }
  }
}

extension DataSource {
  /// Explains how the contents are made: by which sources and operators, and how much work each has done.
  ///
  /// The explanation includes everything upstream, also in other sources that a container shows. Each node is read at
  /// another moment if changes are being delivered. You can call the method on any thread, and inside observers. It
  /// starts no source.
  ///
  /// - Complexity: O(n) for n nodes, independent of the number of elements.
  public func explain() -> LiveGraph {
    LiveGraph(endingWith: collection.node)
  }

  /// Gives a name to this source, which explanations and traces show.
  ///
  ///     let prices = JSONFileDataSource<Price>(path: "prices.json").labeled("prices")
  ///
  /// A source of your own that uses a ``SourceWriter`` is shown with its type and its location. A label tells two of them apart.
  ///
  /// - Parameter label: The name.
  /// - Returns: This source.
  @discardableResult
  public func labeled(_ label: String) -> Self {
    collection.node.note { $0.label = label }
    return self
  }

  /// Begins to count the work of everything upstream, for ``explain()``.
  ///
  /// The counts begin at zero, unless the work is counted already. Sources that are connected later, for example by a swap,
  /// are counted too. Counting adds a few reads of a clock to each change.
  ///
  /// - Returns: A handle. Releasing it stops counting.
  public func countWork() -> Disposable {
    let measurement = Measurement(upTo: collection.node)
    return Disposable { measurement.end() }
  }
}

// MARK: Reading the graph

extension LiveGraph {
  init(endingWith end: ReactiveSignals.Node) {
    var nodes: [Node] = []
    var positions: [ObjectIdentifier: Int] = [:]
    var seen: Set<ObjectIdentifier> = []
    // Each node is on the stack twice: before its inputs, and after them.
    var open: [(node: ReactiveSignals.Node, inputs: [ReactiveSignals.Node]?)] = [(end, nil)]
    while let (node, inputs) = open.popLast() {
      if let inputs {
        positions[ObjectIdentifier(node)] = nodes.count
        nodes.append(
          Node(node.summary, inputs: inputs.compactMap { positions[ObjectIdentifier($0)] }))
      } else if seen.insert(ObjectIdentifier(node)).inserted {
        let inputs = node.visibleInputs
        open.append((node, inputs))
        open += inputs.reversed().map { ($0, nil) }
      }
    }
    self.nodes = nodes
  }
}

extension ReactiveSignals.Node {
  /// The nodes from which this one is made, without those that only connect domains.
  fileprivate var visibleInputs: [ReactiveSignals.Node] {
    var visible: [ReactiveSignals.Node] = []
    var seen: Set<ObjectIdentifier> = []
    var open: [ReactiveSignals.Node] = upstream.reversed()
    while let next = open.popLast() {
      guard seen.insert(ObjectIdentifier(next)).inserted else { continue }
      if next.isConnection {
        open += next.upstream.reversed()
      } else if next.name.type != UpdateTrigger.self {
        visible.append(next)
      }
    }
    return visible
  }
}

/// The state of a collection of any type.
private protocol AnyCollectionState {
  var elementCount: Int { get }
  var status: SourceStatus { get }
  var hasLoaded: Bool { get }
}

extension StateBox: AnyCollectionState {
  fileprivate var elementCount: Int { state.snapshot.count }
  fileprivate var status: SourceStatus { state.status }
  fileprivate var hasLoaded: Bool { state.hasLoaded }
}

extension LiveGraph.Node {
  fileprivate init(_ summary: ReactiveSignals.Node.Summary, inputs: [Int]) {
    let state = summary.state as? any AnyCollectionState
    (kind, label, self.inputs) = (summary.name.kind, summary.name.label, inputs)
    (elementCount, status, hasLoaded) = (state?.elementCount, state?.status, state?.hasLoaded)
    observerCount = summary.observers
    source = summary.facts.flatMap(LiveGraph.Source.init)
    work = summary.work.map { LiveGraph.Work($0, loadTime: summary.countedLoadTime) }
  }
}

extension LiveGraph.Source {
  fileprivate init?(_ facts: NodeNotes.Facts) {
    if facts.location == nil, facts.mode == nil, facts.loads == 0, facts.fault == nil { return nil }
    (location, mode, reason) = (facts.location, facts.mode, facts.reason)
    (loadCount, lastFault) = (facts.loads, facts.fault)
    (loadTime, lastLoadTime) = (.nanoseconds(facts.loadTime), .nanoseconds(facts.lastLoadTime))
    lastLoadAge = .nanoseconds(Meter.now &- facts.lastLoadEnd)
  }
}

extension LiveGraph.Work {
  fileprivate init(_ counts: NodeWork.Counts, loadTime: UInt64) {
    passCount = counts.passes
    (changesIn, elementsIn) = (counts.changesIn, counts.elementsIn)
    (changesOut, elementsOut) = (counts.changesOut, counts.elementsOut)
    (time, observerTime) = (.nanoseconds(counts.time), .nanoseconds(counts.observerTime))
    self.loadTime = .nanoseconds(loadTime)
  }

  /// The times of which the longest is marked.
  var times: [Duration] { [time, observerTime, loadTime] }

  var totalTime: Duration { times.reduce(.zero, +) }
}
