public import Diffing
public import ListViews

/// A model of a table or collection view that detects all batches that would make a real view trap.
///
///     let view = StrictListView(sections: { model.sections })
///     view.reloadData()
///     …
///     try view.check()
///
/// The view checks each batch against the rules B1 to B7 in <doc:BatchUpdatingViews>. It has a
/// heading for each section and a cell for each item. They are drawn only when they are inserted or
/// reloaded, so a missing reload is detected.
@MainActor
public final class StrictListView<Section: DifferentiableSection> {
  /// The type of the items.
  public typealias Item = Section.Elements.Element

  /// The reaction to a broken rule.
  public enum Reaction: Sendable {
    /// Adds the error to ``violations``, and throws it in ``check()``.
    ///
    /// The view then draws all sections again, and checks the next batch.
    case collect
    /// Traps, which stops a debugger at the cause.
    case trap
  }

  /// The broken rules, in order.
  public private(set) var violations: [ContractError] = []

  /// The number of performed batches.
  public private(set) var batchCount = 0

  /// The number of calls of `reloadData()`.
  public private(set) var reloadCount = 0

  /// A Boolean value that indicates whether completions wait for ``completeBatches(isFinished:)``.
  /// By default, they are called immediately.
  public var holdsCompletions = false

  private let reaction: Reaction
  private let data: @MainActor () -> [Section]
  /// The drawn sections, or `nil` before the first use.
  private var drawn: ShownSections<Section>?
  private var batch: StrictBatch?
  private var completions: [@MainActor (Bool) -> Void] = []

  /// Creates a view of sections.
  ///
  /// - Parameters:
  ///   - reaction: The reaction to a broken rule.
  ///   - sections: A closure that returns the current sections.
  public init(
    reaction: Reaction = .collect, sections: @escaping @MainActor () -> [Section]
  ) {
    self.reaction = reaction
    data = sections
  }

  /// Creates a view of a plain list.
  ///
  /// - Parameters:
  ///   - reaction: The reaction to a broken rule.
  ///   - rows: A closure that returns the current rows.
  public convenience init<Row>(
    reaction: Reaction = .collect, rows: @escaping @MainActor () -> [Row]
  ) where Section == ArraySection<Int, Row> {
    self.init(reaction: reaction, sections: { [ArraySection(model: 0, elements: rows())] })
  }
}

extension StrictListView {
  /// The shown headings, as the sections that they were drawn from.
  public var headings: [Section] { shown.headings }

  /// The shown cells in each section, as the items that they were drawn from.
  public var cells: [[Item]] { shown.cells }

  /// Throws the first broken rule, if there is one.
  ///
  /// If no rule is broken, but the view does not show the data, it throws an error of rule B7.
  public func check() throws(ContractError) {
    if violations.isEmpty, let fault = shown.fault(showing: data(), isLast: true) {
      report("B7", fault)
    }
    if let violation = violations.first { throw violation }
  }

  /// Calls all pending completions in the order of their batches.
  ///
  /// - Parameter isFinished: The argument of the completions.
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
    let violation = ContractError(rule: rule, message: message, step: batchCount)
    if reaction == .trap { preconditionFailure(violation.description) }
    violations.append(violation)
  }

  private func record(_ operation: (inout StrictBatch) -> Void) {
    guard var batch else {
      report("B1", "an operation is called outside a batch")
      drawn = ShownSections(data())
      return
    }
    // Move the batch out of the property, to change it without a copy.
    self.batch = nil
    operation(&batch)
    self.batch = batch
  }

  /// Shows the result of a batch.
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
    if batch != nil { report("B1", "reloadData() is called inside a batch") }
    drawn = ShownSections(data())
  }

  public func performBatchUpdates(
    _ updates: () -> Void, completion: @escaping @MainActor (_ isFinished: Bool) -> Void
  ) {
    guard batch == nil else {
      report("B1", "a batch begins inside another batch")
      updates()
      completions.append(completion)
      return
    }
    var old = shown
    let data = self.data()
    if let fault = old.fault(showing: data, isLast: false) {
      report("B2", "the data has changed outside a batch: \(fault)")
      old = ShownSections(data)
    }
    batch = StrictBatch()
    updates()
    let operations = batch ?? StrictBatch()
    batch = nil
    perform(operations, from: old)
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

  public func deleteItems(at paths: [SectionedChangeset.Path]) {
    record { $0.deletions += paths }
  }

  public func insertItems(at paths: [SectionedChangeset.Path]) {
    record { $0.insertions += paths }
  }

  public func reloadItems(at paths: [SectionedChangeset.Path]) {
    record { $0.reloads += paths }
  }

  public func moveItem(at source: SectionedChangeset.Path, to destination: SectionedChangeset.Path)
  {
    record { $0.moves.append(SectionedChangeset.Move(from: source, to: destination)) }
  }
}
