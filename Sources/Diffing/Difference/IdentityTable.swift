/// Finds old elements by identity, each once, those of one identity by ascending position.
///
/// It holds positions and hashes only; whoever asks compares the identities. An entry is half a word: the
/// position, and as much of the hash as is left, so that what is looked up is mostly decided by one
/// access to memory. In front of the table stands a filter of a few bits for each element, small enough
/// for the nearest cache, that turns away what is not there.
@usableFromInline
struct IdentityTable {
  /// The position plus one, and above it bits of the hash; 0: vacant.
  @usableFromInline let slots: UnsafeMutablePointer<UInt32>
  @usableFromInline let slotMask: Int
  @usableFromInline let positionMask: UInt32
  @usableFromInline let filter: HashFilter
  @usableFromInline let count: Int
  /// For each position the next one of the same identity plus one; empty where there are no duplicates.
  @usableFromInline var next: [UInt32] = []

  /// Creates a table for positions from 0 up to a count, to be deallocated by the owner.
  @inlinable
  init(count: Int) {
    self.count = count
    // At most a quarter full: a guess at the next slot that goes wrong costs an access to memory.
    var capacity = 16
    while capacity < 4 * count { capacity *= 2 }
    slotMask = capacity - 1
    positionMask = .max >> UInt32(UInt32(truncatingIfNeeded: count).leadingZeroBitCount)
    filter = HashFilter(count: count)
    slots = .allocate(capacity: capacity)
    slots.initialize(repeating: 0, count: capacity)
  }

  @inlinable
  func deallocate() {
    slots.deallocate()
    filter.deallocate()
  }

  /// Puts an old element in front of those of its identity: they must be put in by descending position.
  @inlinable
  mutating func insert(_ position: Int, hash: UInt64, isSame: (Int) -> Bool) {
    filter.insert(hash)
    let tag = UInt32(truncatingIfNeeded: hash >> 32) & ~positionMask
    var slot = Int(truncatingIfNeeded: hash) & slotMask
    while true {
      let entry = slots[slot]
      if entry == 0 { break }
      if entry & ~positionMask == tag {
        let first = Int(entry & positionMask) - 1
        if isSame(first) {
          if next.isEmpty { next = [UInt32](repeating: 0, count: count) }
          next[position] = UInt32(first + 1)
          break
        }
      }
      slot = (slot + 1) & slotMask
    }
    slots[slot] = tag | UInt32(truncatingIfNeeded: position + 1)
  }

  /// Takes the first old element of an identity that was not taken yet.
  ///
  /// - Returns: Its position, or -1 if there is none.
  @inlinable
  mutating func take(hash: UInt64, _ taken: TakenPositions, isSame: (Int) -> Bool) -> Int {
    if !filter.mayContain(hash) { return -1 }
    let tag = UInt32(truncatingIfNeeded: hash >> 32) & ~positionMask
    var slot = Int(truncatingIfNeeded: hash) & slotMask
    while true {
      let entry = slots[slot]
      if entry == 0 { return -1 }
      if entry & ~positionMask == tag {
        let first = Int(entry & positionMask) - 1
        if isSame(first) {
          if !taken[first] {
            taken.insert(first)
            return first
          }
          return takeFollowing(first, taken, slot)
        }
      }
      slot = (slot + 1) & slotMask
    }
  }

  /// Takes the next of an identity of which the first was taken already.
  @inlinable
  mutating func takeFollowing(_ first: Int, _ taken: TakenPositions, _ slot: Int) -> Int {
    var position = first
    var following = self.following(position)
    while following >= 0, taken[position] {
      position = following
      following = self.following(position)
    }
    // Where the chain goes on is noted, so that it is not followed from its start each time.
    slots[slot] = slots[slot] & ~positionMask | UInt32(truncatingIfNeeded: position + 1)
    if taken[position] { return -1 }
    taken.insert(position)
    return position
  }

  @inlinable
  func following(_ position: Int) -> Int {
    next.isEmpty ? -1 : Int(next[position]) - 1
  }
}

/// Turns away what is not in a set of hashes, all but one in eight.
///
/// Eight bits for each element, so that it stays in the nearest caches where the table does not.
@usableFromInline
struct HashFilter {
  @usableFromInline let words: UnsafeMutablePointer<UInt64>
  @usableFromInline let mask: Int

  /// To be deallocated by the owner.
  @inlinable
  init(count: Int) {
    var wordCount = 1
    while 8 * wordCount < count { wordCount *= 2 }
    mask = wordCount * 64 - 1
    words = .allocate(capacity: wordCount)
    words.initialize(repeating: 0, count: wordCount)
  }

  @inlinable
  func deallocate() {
    words.deallocate()
  }

  @inlinable
  func insert(_ hash: UInt64) {
    let bit = Int(truncatingIfNeeded: hash >> 8) & mask
    words[bit / 64] |= 1 << UInt64(bit % 64)
  }

  @inlinable
  func mayContain(_ hash: UInt64) -> Bool {
    let bit = Int(truncatingIfNeeded: hash >> 8) & mask
    return words[bit / 64] & (1 << UInt64(bit % 64)) != 0
  }
}

/// Which old elements were taken: one bit for each position.
@usableFromInline
struct TakenPositions {
  @usableFromInline let words: UnsafeMutablePointer<UInt64>

  /// To be deallocated by the owner.
  @inlinable
  init(count: Int) {
    words = .allocate(capacity: count / 64 + 1)
    words.initialize(repeating: 0, count: count / 64 + 1)
  }

  @inlinable
  func deallocate() {
    words.deallocate()
  }

  @inlinable
  subscript(position: Int) -> Bool {
    words[position / 64] & (1 << UInt64(position % 64)) != 0
  }

  @inlinable
  func insert(_ position: Int) {
    words[position / 64] |= 1 << UInt64(position % 64)
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
  let hasher = IdentityHasher()
  var table = IdentityTable(count: oldCount)
  defer { table.deallocate() }
  let taken = TakenPositions(count: oldCount)
  defer { taken.deallocate() }
  for offset in stride(from: oldCount - 1, through: 0, by: -1) {
    let identifier = old(offset)
    table.insert(offset, hash: hasher.hash(identifier)) { sameIdentity(old($0), identifier) }
  }
  for offset in 0..<newCount {
    let identifier = new(offset)
    pair(
      table.take(hash: hasher.hash(identifier), taken) { sameIdentity(old($0), identifier) }, offset
    )
  }
}
