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

  @inlinable var header: Row { .header(key, count: elements.count) }

  @inlinable var rows: [Row] { [header] + elements.map(Row.element) }

  @inlinable
  func row(at offset: Int) -> Row { offset == 0 ? header : .element(elements[offset - 1]) }

  /// Returns the difference from the rows of this section to those of a later one.
  @inlinable
  func rowChangeset(to later: ListSection) -> Changeset {
    let change = changeset(to: later).shifted(oldBy: 1, newBy: 1)
    if header.isSame(as: later.header) { return change }
    return Changeset(
      deletions: change.deletions, insertions: change.insertions, moves: change.moves,
      updates: [.init(from: 0, to: 0)] + change.updates)
  }
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
    lengths.follow(changeset, inserted: changeset.insertions.map { after[$0].rows }, output)
    var (parts, inserted, updated): ([Changeset], [Output], [Output]) = ([], [], [])
    var shift = 0
    for update in changeset.updates {
      let (old, new) = (before[update.from], after[update.to])
      let part = old.rowChangeset(to: new)
      inserted += part.insertions.map { new.row(at: $0) }
      updated += part.updates.map { new.row(at: $0.to) }
      let start = lengths.block(at: update.to).lowerBound
      parts.append(part.shifted(oldBy: start - shift, newBy: start))
      lengths.setLength(new.elements.count + 1, at: update.to)
      shift += new.elements.count - old.elements.count
    }
    // One edit: an element that left one section and entered another becomes a move.
    output.apply(valid: Changeset(concatenating: parts), inserted: inserted, updated: updated)
  }
}
