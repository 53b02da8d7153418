import FileSources
import ObservableCollections
import Synchronizers

/// The command `merge`: merges two lists that were edited independently.
struct Merge: Command {
  /// The common ancestor, and both sides.
  private let sources: [SourceSpecification]
  private var options: Options

  init(_ words: Arguments) throws(LivelistError) {
    try words.checkCount(3...3, "needs three sources")
    sources = try words.operands.map { (word) throws(LivelistError) in
      try SourceSpecification(word, allowing: .list)
    }
    options = words.options
    // Otherwise, the element of a line that cannot be read would count as deleted.
    options.sources.hasStrictLines = true
    if sources.count(where: \.readsInput) > 1 {
      throw .usage("two sources are standard input, which can be read only once; name a file")
    }
  }

  func run(_ output: Output) async throws(LivelistError) {
    var opened: [any DataSource<JSONElement>] = []
    for source in sources { opened.append(try source.open(options.sources)) }
    // Load all sources concurrently.
    for source in opened { source.start() }
    var lists: [Snapshot<JSONElement>] = []
    for source in opened {
      lists.append(try await source.loadedSnapshot(isComplete: true))
      source.reportFailure()
    }
    var warnings = KeyWarnings()
    for ((specification, source), list) in zip(zip(sources, opened), lists) {
      warnings.check(list, isUnique: specification.hasUniqueKeys(source))
      try checkKeys(of: list, specification)
    }

    var members = MemberMerge(nestedKeys: options.nestedKeys, preference: options.preference)
    let merge = ThreeWayMerge(base: lists[0], mine: lists[1], theirs: lists[2]) { conflict in
      guard options.mergesMembers, let mine = conflict.mine, let theirs = conflict.theirs,
        conflict.kind != .moved, mine.kind == .object, theirs.kind == .object
      else { return options.preference.resolution(of: conflict) }
      return .merged(members.merge(base: conflict.base, mine: mine, theirs: theirs))
    }
    let whole = merge.conflicts.filter { if case .merged = $0.resolution { false } else { true } }
    let conflicts =
      members.conflicts.map { "\($0.message); \($0.winner) wins" } + whole.map(\.description)
    for conflict in conflicts { Program.report(conflict) }
    let count = conflicts.count
    if options.isStrict, count > 0 {
      throw LivelistError(
        status: 3,
        message:
          "found \(count == 1 ? "1 conflict" : "\(count) conflicts") and printed no elements; "
          + "edit the lists until they agree, or omit --strict")
    }
    output.array(of: merge.merged)
    // Exiting the process frees the memory faster than releasing all objects.
    Program.end()
  }

  /// Throws an error if the list contains objects without a key.
  ///
  /// Without a key, an object is identified by its whole content. If both sides edited such an
  /// object, the result would contain both versions.
  private func checkKeys(
    of list: Snapshot<JSONElement>, _ source: SourceSpecification
  ) throws(LivelistError) {
    guard options.sources.key == nil, !source.hasOwnKey,
      let offset = list.firstIndex(where: { $0.utf8.first == UInt8(ascii: "{") })
    else { return }
    throw .usage(
      "element \(offset + 1) of \(source.text) is an object, but there is no --key; "
        + "use --key FIELD to name the member that identifies elements")
  }
}
