package import Diffing

/// Finds identities that several elements have.
///
/// Identities are counted by hashes of at least 63 bits with a new random seed. A collision would only cause a wrong
/// diagnostic.
package struct IdentityCounter<Element: Differentiable & Sendable> {
  private struct Repeated {
    let identifier: Element.DifferenceIdentifier
    var count: Int
  }

  /// The contents that are counted, or `nil` if none are.
  private var counted: Snapshot<Element>?
  /// A Boolean value that indicates whether the eight bytes of an identity are hashed.
  private let isWord =
    MemoryLayout<Element.DifferenceIdentifier>.size == 8 && Element.hasBitwiseIdentity
  private let seed = UInt64.random(in: .min ... .max)
  private var known: Set<UInt64> = []
  private var repeated: [UInt64: Repeated] = [:]
  /// The hash of the identity that the diagnostic names, as long as it occurs more than once.
  private var reportedHash: UInt64?
  /// The offsets of the first two elements with that identity, if they are still known.
  private var offsets: (Int, Int)?
  /// The hash of the identity whose offsets were looked for last.
  private var located: UInt64?

  static var diagnosticCode: String { "duplicate-identity" }

  package init() {}

  /// Counts the elements of new contents.
  ///
  /// - Parameters:
  ///   - new: The new contents.
  ///   - old: The contents before.
  ///   - result: The contents after.
  /// - Complexity: O(*k*) for *k* changed elements, or O(*n*) if the old contents are not counted or an identity becomes
  ///   the first that occurs more than once.
  package mutating func count(
    _ new: SourceWriter<Element>.Contents, from old: Snapshot<Element>, to result: Snapshot<Element>
  ) {
    switch new {
    case .same:
      guard let counted, !counted.hasSameContents(as: old) else { return }
      // A transaction has failed since then.
      countIfNeeded(old)
    case .whole(let elements):
      self = IdentityCounter()
      add(elements)
    case .changed(let changeset, let inserted, let updated):
      countIfNeeded(old)
      for offset in changeset.deletions { remove(old[offset]) }
      // An update that another process sent may change an identity.
      for update in changeset.updates { remove(old[update.from]) }
      add(inserted)
      add(updated)
    case .appended(let elements, let replacesLast):
      countIfNeeded(old)
      if replacesLast, let last = old.last {
        remove(last)
        // It may have been one of the located elements.
        if hash(of: last) == located { located = nil }
      }
      add(elements)
    }
    if repeatedIdentity == nil { reportedHash = repeated.first?.key }
    let isLocated = located == reportedHash
    switch new {
    case .same where isLocated, .appended where isLocated: break
    case .changed where isLocated: offsets = nil
    case .same, .whole, .changed, .appended: findOffsets(in: result)
    }
    counted = result
  }

  private mutating func findOffsets(in contents: Snapshot<Element>) {
    (offsets, located) = (nil, reportedHash)
    guard let identifier = repeatedIdentity else { return }
    var first: Int?
    for (offset, element) in contents.enumerated()
    where element.differenceIdentifier == identifier {
      if let first { return offsets = (first, offset) }
      first = offset
    }
  }

  private mutating func countIfNeeded(_ contents: Snapshot<Element>) {
    if counted.map({ $0.hasSameContents(as: contents) }) ?? false { return }
    self = IdentityCounter()
    add(contents)
  }

  private mutating func remove(_ element: Element) {
    let hash = hash(of: element)
    guard let entry = repeated[hash] else {
      known.remove(hash)
      return
    }
    repeated[hash]?.count -= 1
    if entry.count == 2 { repeated[hash] = nil }
  }

  private mutating func add(_ elements: some Collection<Element>) {
    known.reserveCapacity(known.count + elements.count)
    for element in elements {
      let hash = hash(of: element)
      if known.insert(hash).inserted { continue }
      repeated[hash, default: Repeated(identifier: element.differenceIdentifier, count: 1)].count +=
        1
      // The first one, so the diagnostic is the same each time.
      if repeatedIdentity == nil { reportedHash = hash }
    }
  }

  /// An identity of several elements, or `nil` if all identities are unique.
  package var repeatedIdentity: Element.DifferenceIdentifier? {
    reportedHash.flatMap { repeated[$0] }?.identifier
  }

  /// A diagnostic that names an identity of several elements, or `nil` if all identities are unique.
  var diagnostic: SourceStatus.Diagnostic? {
    repeatedIdentity.map { identity in
      let elements = offsets.map { "Elements \($0) and \($1)" } ?? "Several elements"
      return SourceStatus.Diagnostic(
        code: Self.diagnosticCode,
        message: "\(elements) have the same key, \(identity); "
          + "a change of one may be reported for the other.")
    }
  }

  private func hash(of element: Element) -> UInt64 {
    guard isWord else {
      return UInt64(bitPattern: Int64(element.differenceIdentifier.hashValue))
    }
    // The mixing is reversible, so different words have different hashes.
    let word = withUnsafeBytes(of: element.differenceIdentifier) {
      $0.loadUnaligned(as: UInt64.self)
    }
    let mixed = (word ^ seed) &* 0x9E37_79B9_7F4A_7C15
    return mixed ^ mixed >> 32
  }
}
