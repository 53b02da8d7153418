import Diffing
import ObservableCollections

/// The change of a query's result after a read.
enum ResultChange<Element: Differentiable & Sendable> {
  case unchanged
  /// All elements of the new result.
  case replaced([Element])
  case changed(Changeset, inserted: [Element], updated: [Element])
}

/// Keeps the elements of a query in step with its database.
///
/// There are two ways: `IncrementalResult` and `FullRefetch`. `LiveQuery` chooses one for the
/// current schema, and calls it on one thread at a time. A read has two parts, because rows are
/// mapped to elements after the transaction has ended. If an element cannot be made, the result
/// stays as it was.
///
/// A maintainer that does not follow the writer of this process needs only the first three members.
protocol ResultMaintainer<Element>: AnyObject {
  associatedtype Element: Differentiable & Sendable

  var diagnostics: [SourceDiagnostic] { get }

  /// Reads the whole result, in a transaction.
  func read(from database: SQLiteDatabase, schemaVersion: Int64?) throws(SQLiteError)

  /// Maps the rows of the last read to elements.
  ///
  /// - Parameters:
  ///   - shown: A closure that returns the current elements.
  ///   - map: A closure that makes an element from a row.
  func finishRead(
    _ shown: () -> Snapshot<Element>, _ map: (SQLiteRow) throws -> Element
  ) throws(SQLiteError) -> ResultChange<Element>

  /// Prepares a read of the whole result, before its transaction begins.
  ///
  /// - Parameter writer: The connection of this process that commits.
  func prepareRead(writer: SQLiteConnection?)

  /// Returns a Boolean value that indicates whether the writer of this process is known, and has the file
  /// at the path open.
  func hasWriter(at path: String?) -> Bool

  /// Reads only the rows that the writer of this process has written, and maps them.
  ///
  /// - Returns: The change, or `nil` if the whole result must be read.
  func readWrittenRows(
    _ shown: () -> Snapshot<Element>, _ map: (SQLiteRow) throws -> Element
  ) throws(SQLiteError) -> ResultChange<Element>?

  /// Forgets the writer, so the next update reads the whole result.
  func forgetWriter()
}

extension ResultMaintainer {
  func prepareRead(writer: SQLiteConnection?) {}

  func hasWriter(at path: String?) -> Bool { false }

  func readWrittenRows(
    _ shown: () -> Snapshot<Element>, _ map: (SQLiteRow) throws -> Element
  ) throws(SQLiteError) -> ResultChange<Element>? {
    nil
  }

  func forgetWriter() {}
}

extension SQLiteError {
  /// Creates the error of a row that cannot be mapped.
  ///
  /// - Parameters:
  ///   - error: The error of the closure that makes an element from a row.
  ///   - row: The offset of the element in the new result.
  init(mapping error: any Error, row: Int) {
    self =
      error as? SQLiteError
      ?? SQLiteError(
        .decoding, "a row cannot be mapped to an element: \(error)",
        help: "change the query or the closure that maps its rows")
    self.row = row
  }
}

// MARK: - What is known of rows and elements

/// A 128-bit hash of the stored values of a row, which finds changed rows without decoding.
struct RowFingerprint: Hashable {
  fileprivate var low: UInt64 = 0
  fileprivate var high: UInt64 = 0

  init() {}

  static func == (left: RowFingerprint, right: RowFingerprint) -> Bool {
    left.low == right.low && left.high == right.high
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(low)
  }
}

/// Computes the fingerprint of a row, value by value.
///
/// The hash has two lanes of multiply-and-fold over words of eight bytes, and random seeds in each
/// process. No one who fills the database can prepare rows with equal hashes. For many rows, copy
/// one new hasher, because creating one checks a lazy global.
struct RowHasher {
  private(set) var fingerprint = RowFingerprint()
  private let factors: (UInt64, UInt64)

  private static let seeds = (
    UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max),
    UInt64.random(in: .min ... .max) | 1, UInt64.random(in: .min ... .max) | 1
  )

  init() {
    let seeds = RowHasher.seeds
    fingerprint.low = seeds.0
    fingerprint.high = seeds.1
    factors = (seeds.2, seeds.3)
  }

  @inline(__always)
  mutating func combine(_ value: StoredValue) {
    switch value {
    case .integer(let number):
      add(1)
      add(UInt64(bitPattern: number))
    case .real(let number):
      add(2)
      add(number.bitPattern)
    case .text(let bytes): combine(tag: 3, bytes)
    case .blob(let bytes): combine(tag: 4, bytes)
    case .null:
      add(5)
      add(0)
    }
  }

  mutating func combine(_ statement: SQLiteStatement, _ positions: Range<Int>) {
    for position in positions { combine(statement.storedValue(at: position)) }
  }

  /// Adds a type and bytes. The length is included, so bytes cannot move between neighboring
  /// values.
  private mutating func combine(tag: UInt64, _ bytes: UnsafeRawBufferPointer) {
    add(tag | UInt64(bytes.count) << 3)
    var offset = 0
    while offset + 8 <= bytes.count {
      add(bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      offset += 8
    }
    guard offset < bytes.count else { return }
    var word: UInt64 = 0
    for byte in bytes[offset...] { word = word << 8 | UInt64(byte) }
    add(word)
  }

  private mutating func add(_ word: UInt64) {
    fingerprint.low = RowHasher.fold(fingerprint.low ^ word, factors.0) &+ word
    fingerprint.high = RowHasher.fold(fingerprint.high &+ word, factors.1) ^ word
  }

  private static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
    let product = left.multipliedFullWidth(by: right)
    return product.high ^ product.low
  }
}

/// The identities that occur more than once.
///
/// Identities are counted by hashes of at least 63 bits with a new random seed. A collision would
/// only cause a wrong diagnostic.
struct KnownIdentities<Element: Differentiable & Sendable> {
  private struct Repeated {
    let identifier: Element.DifferenceIdentifier
    var count: Int
  }

  /// A Boolean value that indicates whether the eight bytes of an identity are hashed.
  private let isWord = KnownIdentities.areWords
  private let seed = UInt64.random(in: .min ... .max)
  private var known = HashSet64()
  private var repeated: [UInt64: Repeated] = [:]
  /// The hash of the identity that the diagnostic names, as long as it occurs more than once.
  private var told: UInt64?

  init() {}

  init(of elements: some Collection<Element>) {
    update(removed: [Element](), added: elements)
  }

  /// Updates the counts after a change.
  ///
  /// - Complexity: O(*n*) for *n* changed elements.
  mutating func update(removed: [Element], added: some Collection<Element>) {
    known.reserveCapacity(added.count)
    for element in removed {
      let hash = hash(of: element)
      if let entry = repeated[hash] {
        repeated[hash]?.count -= 1
        if entry.count == 2 { repeated[hash] = nil }
      } else {
        known.remove(hash)
      }
    }
    for element in added {
      let hash = hash(of: element)
      if known.insert(hash) { continue }
      repeated[hash, default: Repeated(identifier: element.differenceIdentifier, count: 1)].count +=
        1
    }
    if told.map({ repeated[$0] == nil }) ?? true { told = repeated.first?.key }
  }

  /// A diagnostic that names an identity of several elements, or `nil` if all identities are
  /// unique.
  var diagnostic: SourceDiagnostic? {
    told.flatMap { repeated[$0] }.map { entry in
      SourceDiagnostic(
        code: "duplicate-identity",
        message: "Several elements have the same key, \(entry.identifier); "
          + "a change of one may be reported for the other.")
    }
  }

  private func hash(of element: Element) -> UInt64 {
    if isWord {
      // The mixing is reversible, so different words have different hashes.
      let mixed = (KnownIdentities.word(of: element) ^ seed) &* 0x9E37_79B9_7F4A_7C15
      return mixed ^ mixed >> 32
    }
    return UInt64(bitPattern: Int64(element.differenceIdentifier.hashValue))
  }

}

extension KnownIdentities {
  /// A Boolean value that indicates whether an identity consists of eight bytes.
  fileprivate static var areWords: Bool {
    MemoryLayout<Element.DifferenceIdentifier>.size == 8 && Element.hasBitwiseIdentity
  }

  fileprivate static func word(of element: Element) -> UInt64 {
    withUnsafeBytes(of: element.differenceIdentifier) { $0.loadUnaligned(as: UInt64.self) }
  }

  /// Returns a Boolean value that indicates whether the identity of a row's element is its rowid.
  /// If it is for all rows, no identity occurs twice, and none is counted.
  static func isRowid(_ rowid: Int64, of element: Element) -> Bool {
    areWords && word(of: element) == UInt64(bitPattern: rowid)
  }
}

/// A set of hashes, with open addressing and linear probing.
struct HashSet64: Sendable {
  /// The hashes. A free slot is 0.
  private var slots: ContiguousArray<UInt64> = []
  private var count = 0

  init() {}

  mutating func reserveCapacity(_ capacity: Int) {
    if 2 * capacity > slots.count { grow(to: capacity) }
  }

  /// Inserts a hash.
  ///
  /// - Returns: `false` if the set already contains it.
  mutating func insert(_ number: UInt64) -> Bool {
    if 2 * (count + 1) > slots.count { grow(to: max(16, 2 * count)) }
    let slot = slot(of: number)
    guard slots[slot] == 0 else { return false }
    slots[slot] = HashSet64.stored(number)
    count += 1
    return true
  }

  mutating func remove(_ number: UInt64) {
    guard !slots.isEmpty else { return }
    var free = slot(of: number)
    guard slots[free] != 0 else { return }
    count -= 1
    // Move displaced hashes back, so no probe ends too early.
    let mask = slots.count - 1
    var next = free
    while true {
      next = (next + 1) & mask
      guard slots[next] != 0 else { break }
      let home = Int(truncatingIfNeeded: slots[next]) & mask
      if (next - home) & mask >= (next - free) & mask {
        slots[free] = slots[next]
        free = next
      }
    }
    slots[free] = 0
  }

  private static func stored(_ number: UInt64) -> UInt64 { number == 0 ? 1 : number }

  private func slot(of number: UInt64) -> Int {
    let number = HashSet64.stored(number)
    let mask = slots.count - 1
    var slot = Int(truncatingIfNeeded: number) & mask
    while slots[slot] != 0, slots[slot] != number { slot = (slot + 1) & mask }
    return slot
  }

  private mutating func grow(to capacity: Int) {
    var size = 32
    while size < 2 * capacity { size *= 2 }
    let old = slots
    slots = ContiguousArray(repeating: 0, count: size)
    for number in old where number != 0 { slots[slot(of: number)] = number }
  }
}
