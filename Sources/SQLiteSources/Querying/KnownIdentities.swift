import Diffing
import ObservableCollections

/// Which identities occur more than once.
///
/// They are counted by their hashes, of 63 bits and more, drawn anew each time: two that share one
/// would be told of as one, which is all that could come of it.
struct KnownIdentities<Element: Differentiable & Sendable> {
  private struct Repeated {
    let identifier: Element.DifferenceIdentifier
    var count: Int
  }

  /// Whether identities are told by their eight bytes.
  private let isWord = KnownIdentities.areWords
  private let seed = UInt64.random(in: .min ... .max)
  private var known = HashSet64()
  private var repeated: [UInt64: Repeated] = [:]
  /// The one that is told of, for as long as it is repeated.
  private var told: UInt64?

  init() {}

  /// Counts elements.
  init(of elements: some Collection<Element>) {
    update(removed: [Element](), added: elements)
  }

  /// Counts what went and what came.
  ///
  /// - Complexity: O(changes).
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

  /// Names an identity that several elements have, if there is one.
  var diagnostic: SourceDiagnostic? {
    told.flatMap { repeated[$0] }.map { entry in
      SourceDiagnostic(
        code: "duplicate-identity",
        message: "Several elements have the same key, \(entry.identifier); "
          + "their changes may be told as those of one another.")
    }
  }

  private func hash(of element: Element) -> UInt64 {
    if isWord {
      // Mixed without loss: that of another word is another one.
      let mixed = (KnownIdentities.word(of: element) ^ seed) &* 0x9E37_79B9_7F4A_7C15
      return mixed ^ mixed >> 32
    }
    return UInt64(bitPattern: Int64(element.differenceIdentifier.hashValue))
  }

}

extension KnownIdentities {
  /// Whether identities are told by eight bytes.
  fileprivate static var areWords: Bool {
    MemoryLayout<Element.DifferenceIdentifier>.size == 8 && Element.hasBitwiseIdentity
  }

  fileprivate static func word(of element: Element) -> UInt64 {
    withUnsafeBytes(of: element.differenceIdentifier) { $0.loadUnaligned(as: UInt64.self) }
  }

  /// Whether the identity of a row's element is its rowid. Where that holds for all rows, no two are the
  /// same, and none needs to be counted.
  static func isRowid(_ rowid: Int64, of element: Element) -> Bool {
    areWords && word(of: element) == UInt64(bitPattern: rowid)
  }
}
