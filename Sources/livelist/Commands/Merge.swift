import Diffing
import FileSources
import ObservableCollections
import Synchronizers

/// The command `merge`: merges two lists that were edited independently.
struct Merge {
  let options: MergeOptions
  let output: Output

  func run() async throws(LivelistError) {
    let sources = [options.base, options.mine, options.theirs]
    var opened: [any DataSource<JSONElement>] = []
    for source in sources { opened.append(try source.open(key: options.key)) }
    // Load all sources concurrently.
    for source in opened { source.start() }
    var lists: [Snapshot<JSONElement>] = []
    for source in opened { lists.append(try await source.loadedSnapshot()) }
    var duplicates = DuplicateKeys()
    for (source, list) in zip(sources, lists) { try checkKeys(of: list, source, &duplicates) }

    let merge = ThreeWayMerge(base: lists[0], mine: lists[1], theirs: lists[2]) {
      options.preference.resolution(of: $0)
    }
    for conflict in merge.conflicts { Program.report(ConflictLine.text(of: conflict)) }
    let count = merge.conflicts.count
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
    of list: Snapshot<JSONElement>, _ source: SourceSpecification,
    _ duplicates: inout DuplicateKeys
  ) throws(LivelistError) {
    if let key = duplicates.firstNew(inNewSource: list) { DuplicateKeys.warn(key) }
    guard options.key == nil, !source.isQuery,
      let offset = list.firstIndex(where: { $0.utf8.first == UInt8(ascii: "{") })
    else { return }
    throw .usage(
      "element \(offset + 1) of \(source.text) is an object, but there is no --key; "
        + "use --key FIELD to name the member that identifies elements")
  }
}

extension SourceSpecification {
  /// A Boolean value that indicates whether the first column identifies elements if no key is
  /// given.
  fileprivate var isQuery: Bool {
    if case .sqlite = kind { true } else { false }
  }
}

/// The description of a conflict: the key, the edits of both sides, and the winner.
private enum ConflictLine {
  /// The same limits as in the text format of `diff`.
  private static let style = ChangeDescription.Style()

  static func text(of resolved: MergeConflict<JSONElement>.Resolved) -> String {
    let conflict = resolved.conflict
    let element = conflict.theirs ?? conflict.mine ?? conflict.base
    let key = element.map { shown($0.differenceIdentifier.description) } ?? ""
    return "conflict at \(key): \(edits(conflict)); \(winner(resolved.resolution)) wins"
  }

  private static func edits(_ conflict: MergeConflict<JSONElement>) -> String {
    switch conflict.kind {
    case .edited: "both sides edited it\(fields(conflict))"
    case .added: "both sides added it\(fields(conflict))"
    case .deletedByMine: "mine deleted it, theirs edited it\(fields(conflict))"
    case .deletedByTheirs: "theirs deleted it, mine edited it\(fields(conflict))"
    case .moved: "both sides moved it, to different places"
    }
  }

  private static func winner(_ resolution: MergeConflict<JSONElement>.Resolution) -> String {
    switch resolution {
    case .mine: "mine"
    case .theirs: "theirs"
    case .merged: "the merged value"
    }
  }

  /// Describes the members in which the two sides differ, or that one side has edited.
  private static func fields(_ conflict: MergeConflict<JSONElement>) -> String {
    let (old, new, isBoth) =
      switch (conflict.mine, conflict.theirs) {
      case (let mine?, let theirs?): (mine, theirs, true)
      case (let edited?, nil), (nil, let edited?): (conflict.base ?? edited, edited, false)
      case (nil, nil):
        preconditionFailure("a conflict has an element on at least one side, but both are nil")
      }
    let fields = new.changedFields(from: old)
    if fields.isEmpty { return "" }
    let described = fields.prefix(style.fieldLimit).map { field in
      let name = shown(field.name)
      let (old, new) = ValueFormatter.shortened(
        field.old ?? "nothing", field.new ?? "nothing", to: style.valueLength)
      return isBoth ? "\(name) is \(old) in mine and \(new) in theirs" : "\(name): \(old) → \(new)"
    }
    let rest = fields.count - described.count
    return " (\(described.joined(separator: ", "))\(rest > 0 ? ", and \(rest) more" : ""))"
  }

  private static func shown(_ text: String) -> String {
    ValueFormatter.shortened(text, to: style.valueLength)
  }
}
