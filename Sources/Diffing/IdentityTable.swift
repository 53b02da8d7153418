/// Finds old elements by identity, each once, those of one identity by ascending offset.
///
/// It holds offsets and hashes only; whoever asks compares the identities. Elements of one identity
/// share a slot and are chained.
@usableFromInline
struct IdentityTable {
  // For each slot: `vacant`, the next old offset to be taken, or where all are taken the complement of
  // the last one.
  @usableFromInline var slots: [Int]
  // For each old offset its hash, and the next offset of the same identity or -1.
  @usableFromInline var hashes: [Int]
  @usableFromInline var next: [Int]

  @inlinable static var vacant: Int { .min }

  /// Creates a table for old offsets from 0 up to a count.
  @inlinable
  init(count: Int) {
    var capacity = 4
    // At most half full, so that looking for what is absent ends soon.
    while capacity < 2 * count { capacity *= 2 }
    slots = [Int](repeating: Self.vacant, count: capacity)
    hashes = [Int](repeating: 0, count: count)
    next = [Int](repeating: -1, count: count)
  }

  /// Puts an old element in front of those of its identity: they must be put in by descending offset.
  @inlinable
  mutating func insert(_ offset: Int, hash: Int, isSame: (Int) -> Bool) {
    let slot = slot(hash: hash, isSame: isSame)
    hashes[offset] = hash
    if slots[slot] != Self.vacant { next[offset] = slots[slot] }
    slots[slot] = offset
  }

  /// Takes the first old element of an identity that was not taken yet.
  ///
  /// - Returns: Its offset, or -1 if there is none.
  @inlinable
  mutating func take(hash: Int, isSame: (Int) -> Bool) -> Int {
    let slot = slot(hash: hash, isSame: isSame)
    let offset = slots[slot]
    guard offset >= 0 else { return -1 }
    slots[slot] = next[offset] >= 0 ? next[offset] : ~offset
    return offset
  }

  /// The slot that holds an identity, or the vacant one where it would be.
  @inlinable
  func slot(hash: Int, isSame: (Int) -> Bool) -> Int {
    let mask = slots.count - 1
    var slot = hash & mask
    while true {
      let entry = slots[slot]
      if entry == Self.vacant { return slot }
      let offset = entry < 0 ? ~entry : entry
      if hashes[offset] == hash && isSame(offset) { return slot }
      slot = (slot + 1) & mask
    }
  }
}

/// Pairs old with new elements of the same identity, those of one identity the first with the first,
/// the second with the second and so on.
///
/// - Parameters:
///   - oldCount: How many old elements there are.
///   - newCount: How many new ones there are.
///   - old: The identity of an old element, by offset.
///   - new: The identity of a new element, by offset.
///   - pair: Called by ascending new offset, with the old one, or -1 if there is none.
@inlinable
func pairByIdentity<Identifier: Hashable>(
  oldCount: Int, newCount: Int, old: (Int) -> Identifier, new: (Int) -> Identifier,
  pair: (_ old: Int, _ new: Int) -> Void
) {
  var table = IdentityTable(count: oldCount)
  for offset in stride(from: oldCount - 1, through: 0, by: -1) {
    let identifier = old(offset)
    table.insert(offset, hash: identifier.hashValue) { sameIdentity(old($0), identifier) }
  }
  for offset in 0..<newCount {
    let identifier = new(offset)
    pair(table.take(hash: identifier.hashValue) { sameIdentity(old($0), identifier) }, offset)
  }
}
