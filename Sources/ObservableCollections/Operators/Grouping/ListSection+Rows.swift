public import Diffing

extension ListSection {
  /// A row of a list with sections: the header of a section, or an element.
  ///
  ///     switch row {
  ///     case .header(let country, let count): "\(country): \(count)"
  ///     case .element(let customer): customer.name
  ///     }
  public enum Row: Differentiable, Sendable {
    /// The header of a section, with its key and the number of its elements.
    case header(Key, count: Int)
    /// An element.
    case element(Element)

    /// The identity of a row: the key of a section, or the identity of an element.
    public enum Identifier: Hashable {
      /// The key of a section.
      case header(Key)
      /// The identity of an element.
      case element(Element.DifferenceIdentifier)

      /// Returns whether two identities are equal.
      ///
      /// A key that is not equal to itself, such as NaN, is compared by its bits.
      @inlinable
      public static func == (one: Identifier, other: Identifier) -> Bool {
        switch (one, other) {
        case (.header(let one), .header(let other)): one.isSameIdentity(as: other)
        case (.element(let one), .element(let other)): one.isSameIdentity(as: other)
        default: false
        }
      }
    }

    /// The key of a header, or the identity of an element.
    @inlinable public var differenceIdentifier: Identifier {
      switch self {
      case .header(let key, _): .header(key)
      case .element(let element): .element(element.differenceIdentifier)
      }
    }

    /// Returns whether two headers have the same number of elements, or two elements the same content.
    @inlinable
    public func isContentEqual(to source: Row) -> Bool {
      switch (self, source) {
      case (.header(_, let count), .header(_, let other)): count == other
      case (.element(let element), .element(let other)): element.hasSameContent(as: other)
      default: false
      }
    }
  }

  /// The header of this section.
  @inlinable var header: Row { .header(key, count: elements.count) }

  /// The header and the elements.
  @inlinable var rows: [Row] { [header] + elements.map(Row.element) }
}

extension ListSection.Row.Identifier: Sendable where Element.DifferenceIdentifier: Sendable {}
extension ListSection.Row: Equatable where Element: Equatable {}
extension ListSection.Row: Hashable where Element: Hashable {}

extension DataSource {
  /// Derives a list with one row for the header of each section, followed by rows for its elements.
  ///
  ///     let rows = customers.sections(by: \.country).rows()
  ///
  /// This line gives the same result:
  ///
  ///     Array(source).flatMap { [.header($0.key, count: $0.elements.count)] + $0.elements.map { .element($0) } }
  ///
  /// | in | out |
  /// |---|---|
  /// | insert, delete of a section | insert or delete of its header and its elements |
  /// | update of a section | insert, delete, update and move of its elements; update of its header if their number changes |
  /// | move of a section | moves of its rows, or of the rows that it passes |
  /// | an element enters another section | a move if it passes other rows, with an update if its content changes |
  ///
  /// - Complexity: O(k log n) for a change of k of n rows. A section that was not made by `sections(by:order:)`, or
  ///   whose changes were merged, is compared. Parts that are shared in memory are not read.
  @inlinable
  public func rows<Key, Item>() -> LiveCollection<ListSection<Key, Item>.Row>
  where Element == ListSection<Key, Item> {
    transformed { SectionRowsOperator(input: $0) }
  }
}

/// An operator that shows each section as a block of consecutive rows.
@usableFromInline
struct SectionRowsOperator<Key: Hashable & Sendable, Item: Differentiable & Sendable>:
  ~Copyable, CollectionOperator
{
  @usableFromInline typealias Section = ListSection<Key, Item>
  @usableFromInline typealias Output = Section.Row

  @usableFromInline let input: CollectionInput<Section>
  /// The number of rows of each section.
  @usableFromInline var lengths = BlockLengths(lengths: [])

  @inlinable
  init(input: CollectionInput<Section>) {
    self.input = input
  }

  @inlinable
  mutating func start(_ output: CollectionDraft<Output>) {
    let sections = input.snapshot
    lengths = BlockLengths(lengths: sections.map { $0.elements.count + 1 })
    output.append(contentsOf: sections.flatMap(\.rows))
  }

  @inlinable
  mutating func update(_ output: CollectionDraft<Output>) {
    guard let change = input.change else { return }
    let (changeset, before, after) = (change.changeset, change.before, change.after)
    var edit = SectionRowsEdit<Key, Item>()
    for offset in changeset.deletions { edit.deletions += lengths.block(at: offset) }
    let moved = Set(changeset.moves.map(\.to))
    let kept =
      changeset.moves.map { Changeset.Update(from: $0.from, to: $0.to) }
      + changeset.updates.filter { !moved.contains($0.to) }
    let blocks = kept.map { lengths.block(at: $0.from) }
    follow(changeset, after)
    for offset in changeset.insertions {
      edit.insert(after[offset], at: lengths.block(at: offset).lowerBound)
    }
    for (section, block) in zip(kept, blocks) {
      edit.follow(
        before[section.from], at: block.lowerBound, after[section.to],
        at: lengths.block(at: section.to).lowerBound, isMoved: moved.contains(section.to))
    }
    edit.apply(to: output, hasMoves: !moved.isEmpty)
  }

  /// Follows a change of the sections in their lengths.
  @inlinable
  mutating func follow(_ changeset: Changeset, _ after: Snapshot<Section>) {
    for offset in changeset.deletions.reversed() { lengths.remove(at: offset) }
    for move in changeset.sequentialMoves { _ = lengths.moveBlock(from: move.from, to: move.to) }
    for offset in changeset.insertions {
      _ = lengths.insertBlock(after[offset].elements.count + 1, at: offset)
    }
    for update in changeset.updates {
      lengths.setLength(after[update.to].elements.count + 1, at: update.to)
    }
  }
}

/// The change of the rows that a change of their sections causes.
@usableFromInline
struct SectionRowsEdit<Key: Hashable & Sendable, Item: Differentiable & Sendable> {
  @usableFromInline typealias Section = ListSection<Key, Item>

  @usableFromInline var deletions: [Int] = []
  @usableFromInline var insertions: [(offset: Int, row: Section.Row)] = []
  @usableFromInline var moves: [Changeset.Move] = []
  @usableFromInline var updates: [(offsets: Changeset.Update, row: Section.Row)] = []

  @inlinable
  init() {}

  /// Inserts the rows of a section.
  @inlinable
  mutating func insert(_ section: Section, at start: Int) {
    insertions.append((start, section.header))
    for (offset, element) in section.elements.enumerated() {
      insertions.append((start + 1 + offset, .element(element)))
    }
  }

  /// Follows the change of a section whose header was at one offset and is at another one now.
  @inlinable
  mutating func follow(
    _ old: Section, at oldStart: Int, _ new: Section, at newStart: Int, isMoved: Bool
  ) {
    let change = old.changeset(to: new)
    func row(_ offset: Int) -> Section.Row { .element(new.elements[offset]) }
    if !old.header.isSame(as: new.header) {
      updates.append((Changeset.Update(from: oldStart, to: newStart), new.header))
    }
    let (oldFirst, newFirst) = (oldStart + 1, newStart + 1)
    for offset in change.deletions { deletions.append(oldFirst + offset) }
    for offset in change.insertions { insertions.append((newFirst + offset, row(offset))) }
    for update in change.updates {
      updates.append(
        (Changeset.Update(from: oldFirst + update.from, to: newFirst + update.to), row(update.to)))
    }
    func move(from source: Int, to destination: Int) {
      moves.append(Changeset.Move(from: oldFirst + source, to: newFirst + destination))
    }
    if isMoved {
      move(from: -1, to: -1)
      let origins = change.origins(oldCount: old.elements.count)
      for (offset, origin) in origins.enumerated() where origin >= 0 {
        move(from: origin, to: offset)
      }
    } else {
      for element in change.moves { move(from: element.from, to: element.to) }
    }
  }

  /// Edits the rows.
  ///
  /// An element that left one section and entered another becomes a move.
  @inlinable
  mutating func apply(to output: CollectionDraft<Section.Row>, hasMoves: Bool) {
    deletions.sort()
    insertions.sort { $0.offset < $1.offset }
    moves.sort { $0.to < $1.to }
    updates.sort { $0.offsets.to < $1.offsets.to }
    let changeset = Changeset(
      deletions: deletions, insertions: insertions.map(\.offset), moves: moves,
      updates: updates.map(\.offsets))
    output.apply(
      hasMoves ? changeset.withLeastMoves : changeset, inserted: insertions.map(\.row),
      updated: updates.map(\.row))
  }
}
