import Diffing
import FileSources
import ObservableCollections
import Synchronizers

/// `merge`: what comes of two lists that were edited apart.
struct Merge {
  let options: MergeOptions
  let output: Output

  func run() async throws(Failure) {
    let sources = [options.base, options.mine, options.theirs]
    var opened: [any DataSource<JSONElement>] = []
    for source in sources { opened.append(try source.open(key: options.key)) }
    // All read at the same time.
    for source in opened { source.start() }
    var lists: [Snapshot<JSONElement>] = []
    for source in opened { lists.append(try await source.loadedOrFailure()) }
    var duplicates = DuplicateKeys()
    for (source, list) in zip(sources, lists) { try checkKeys(of: list, source, &duplicates) }

    let merge = ThreeWayMerge(base: lists[0], mine: lists[1], theirs: lists[2]) {
      options.preference.resolution(of: $0)
    }
    for conflict in merge.conflicts { Program.report(ConflictLine.text(of: conflict)) }
    let count = merge.conflicts.count
    if options.isStrict, count > 0 {
      throw Failure(
        status: 3,
        message: "\(count == 1 ? "a conflict" : "\(count) conflicts"), and nothing is printed; "
          + "make the sides agree, or leave out --strict")
    }
    output.array(of: merge.merged)
    // The process frees its memory faster than its objects do.
    Program.end()
  }

  /// Objects that are known by nothing but themselves would be there twice where both sides edited them.
  private func checkKeys(
    of list: Snapshot<JSONElement>, _ source: SourceSpecification,
    _ duplicates: inout DuplicateKeys
  ) throws(Failure) {
    if let key = duplicates.firstNew(inNewSource: list) { DuplicateKeys.warn(key) }
    guard options.key == nil, !source.isQuery,
      let offset = list.firstIndex(where: { $0.utf8.first == UInt8(ascii: "{") })
    else { return }
    throw .usage(
      "element \(offset + 1) of \(source.text) is an object; say by --key FIELD which of its members "
        + "it is known by")
  }
}

extension SourceSpecification {
  /// Whether its elements are known by the first column where no key is given.
  fileprivate var isQuery: Bool {
    if case .sqlite = kind { true } else { false }
  }
}

/// What is told of a conflict: the key, what was done, and what holds.
enum ConflictLine {
  /// That of a difference as text.
  private static let style = ChangeDescription.Style()

  static func text(of resolved: ResolvedConflict<JSONElement>) -> String {
    let conflict = resolved.conflict
    let element = conflict.theirs ?? conflict.mine ?? conflict.base
    let key = element.map { shown($0.differenceIdentifier.description) } ?? ""
    return "conflict at \(key): \(what(conflict)); \(holds(resolved.resolution)) holds"
  }

  private static func what(_ conflict: MergeConflict<JSONElement>) -> String {
    switch conflict.kind {
    case .edited: "edited on both sides\(fields(conflict))"
    case .added: "added on both sides\(fields(conflict))"
    case .deletedByMine: "deleted by mine, edited by theirs\(fields(conflict))"
    case .deletedByTheirs: "deleted by theirs, edited by mine\(fields(conflict))"
    case .moved: "moved on both sides, to different places"
    }
  }

  private static func holds(_ resolution: MergeConflict<JSONElement>.Resolution) -> String {
    switch resolution {
    case .mine: "mine"
    case .theirs: "theirs"
    case .merged: "a merged value"
    }
  }

  /// The members that the two sides differ in, or that one side has edited.
  private static func fields(_ conflict: MergeConflict<JSONElement>) -> String {
    let (old, new, isBoth) =
      switch (conflict.mine, conflict.theirs) {
      case (let mine?, let theirs?): (mine, theirs, true)
      case (let edited?, nil), (nil, let edited?): (conflict.base ?? edited, edited, false)
      case (nil, nil): preconditionFailure("a conflict of nothing")
      }
    let fields = new.changedFields(from: old)
    if fields.isEmpty { return "" }
    let told = fields.prefix(style.fieldLimit).map { field in
      let name = shown(field.name)
      let (old, new) = ValueFormatter.shortened(
        field.old ?? "nothing", field.new ?? "nothing", to: style.valueLength)
      return isBoth ? "\(name) is \(old) in mine and \(new) in theirs" : "\(name): \(old) → \(new)"
    }
    let rest = fields.count - told.count
    return " (\(told.joined(separator: ", "))\(rest > 0 ? ", and \(rest) more" : ""))"
  }

  private static func shown(_ text: String) -> String {
    ValueFormatter.shortened(text, to: style.valueLength)
  }
}
