public import Diffing
public import ListViews

/// A model of a table or collection view that takes nothing which one of these would trap on.
///
///     let view = StrictListView(sections: { model.sections })
///     view.reloadData()
///     …
///     try view.check()
///
/// It holds each batch against the rules B1 to B7, which the guide to list views tells with their reasons. It
/// shows a heading for each section and a cell for each item, drawn when they come and when they are
/// reloaded; so that, after each batch, what is shown tells whether a reload was forgotten.
@MainActor
public final class StrictListView<Section: DifferentiableSection> {
  /// What a cell shows.
  public typealias Item = Section.Elements.Element

  /// What becomes of a broken rule.
  public enum Reaction: Sendable {
    /// It is told by ``violations`` and ``check()``.
    ///
    /// Everything is drawn anew, and the next batch is held against the rules again.
    case collect
    /// It ends the process, so that a debugger stops where it came from.
    case trap
  }

  /// What is wrong with what it was told, in order.
  public private(set) var violations: [ContractViolation] = []

  /// How many batches it has performed.
  public private(set) var batchCount = 0

  /// How often everything was drawn by `reloadData()`.
  public private(set) var reloadCount = 0

  /// Whether batches rest only when ``completeBatches(isFinished:)`` says so, rather than at once.
  public var holdsCompletions = false

  private let reaction: Reaction
  private let data: @MainActor () -> [Section]
  /// What is drawn; nil before it is first used.
  private var drawn: ShownSections<Section>?
  private var batch: StrictBatch?
  private var completions: [@MainActor (Bool) -> Void] = []

  /// Makes a view.
  ///
  /// - Parameters:
  ///   - reaction: What becomes of a broken rule.
  ///   - sections: Tells the sections that are to be shown, whenever it is asked.
  public init(
    reaction: Reaction = .collect, sections: @escaping @MainActor () -> [Section]
  ) {
    self.reaction = reaction
    data = sections
  }

  /// Makes a view of a plain list.
  ///
  /// - Parameters:
  ///   - reaction: What becomes of a broken rule.
  ///   - rows: Tells the rows that are to be shown, whenever it is asked.
  public convenience init<Row>(
    reaction: Reaction = .collect, rows: @escaping @MainActor () -> [Row]
  ) where Section == ArraySection<Int, Row> {
    self.init(reaction: reaction, sections: { [ArraySection(model: 0, elements: rows())] })
  }
}

extension StrictListView {
  /// The headings shown, as the sections that they were drawn from.
  public var headings: [Section] { shown.headings }

  /// The cells shown in each section, as the items that they were drawn from.
  public var cells: [[Item]] { shown.cells }

  /// Throws the first violation, if there is any.
  ///
  /// Where there is none, it throws one of B7 if what is shown is not what the data says.
  public func check() throws(ContractViolation) {
    if violations.isEmpty, let fault = shown.fault(showing: data(), isLast: true) {
      report("B7", fault)
    }
    if let violation = violations.first { throw violation }
  }

  /// Calls the completions that are held, in order of their batches.
  ///
  /// - Parameter isFinished: What they are told.
  public func completeBatches(isFinished: Bool = true) {
    let held = completions
    completions = []
    for completion in held { completion(isFinished) }
  }

  private var shown: ShownSections<Section> {
    if let drawn { return drawn }
    let first = ShownSections(data())
    drawn = first
    return first
  }

  private func report(_ rule: String, _ message: String) {
    let violation = ContractViolation(rule: rule, message: message, step: batchCount)
    if reaction == .trap { preconditionFailure(violation.description) }
    violations.append(violation)
  }

  private func record(_ operation: (inout StrictBatch) -> Void) {
    guard var batch else {
      report("B1", "a change is told outside of a batch")
      drawn = ShownSections(data())
      return
    }
    // Not copied while it grows.
    self.batch = nil
    operation(&batch)
    self.batch = batch
  }

  /// Shows what a batch leads to.
  private func perform(_ batch: StrictBatch, from old: ShownSections<Section>) {
    let data = self.data()
    var new = old
    if let fault = batch.fault(from: old.counts, to: data.map(\.elements.count)) {
      report(fault.rule, fault.message)
      new = ShownSections(data)
    } else {
      new.perform(batch, data: data)
      if let fault = new.fault(showing: data, isLast: false) {
        report("B7", fault)
        new = ShownSections(data)
      }
    }
    drawn = new
  }
}

extension StrictListView: BatchUpdatingSectionedListView {
  public func reloadData() {
    reloadCount += 1
    if batch != nil { report("B1", "everything is reloaded inside of a batch") }
    drawn = ShownSections(data())
  }

  public func performBatchUpdates(
    _ updates: () -> Void, completion: @escaping @MainActor (_ isFinished: Bool) -> Void
  ) {
    guard batch == nil else {
      report("B1", "a batch begins inside of another one")
      updates()
      completions.append(completion)
      return
    }
    var old = shown
    let data = self.data()
    if let fault = old.fault(showing: data, isLast: false) {
      report("B2", "the data has changed outside of a batch: \(fault)")
      old = ShownSections(data)
    }
    batch = StrictBatch()
    updates()
    let told = batch ?? StrictBatch()
    batch = nil
    perform(told, from: old)
    batchCount += 1
    completions.append(completion)
    if !holdsCompletions { completeBatches() }
  }

  public func deleteSections(at sections: [Int]) {
    record { $0.sectionDeletions += sections }
  }

  public func insertSections(at sections: [Int]) {
    record { $0.sectionInsertions += sections }
  }

  public func reloadSections(at sections: [Int]) {
    record { $0.sectionReloads += sections }
  }

  public func moveSection(at source: Int, to destination: Int) {
    record { $0.sectionMoves.append(Changeset.Move(from: source, to: destination)) }
  }

  public func deleteItems(at paths: [ElementPath]) {
    record { $0.deletions += paths }
  }

  public func insertItems(at paths: [ElementPath]) {
    record { $0.insertions += paths }
  }

  public func reloadItems(at paths: [ElementPath]) {
    record { $0.reloads += paths }
  }

  public func moveItem(at source: ElementPath, to destination: ElementPath) {
    record { $0.moves.append(SectionedChangeset.Move(from: source, to: destination)) }
  }
}
