/// A hash table that finds old elements by identity. It returns each element once, and elements of
/// equal identity by ascending position.
///
/// The table stores only positions and hashes. The caller compares the identities. An entry is half
/// a word: the position, and as many bits of the hash as fit. Most lookups therefore need one
/// memory access. A filter before the table has a few bits for each element. It fits into the
/// nearest cache, and rejects most absent elements.
@usableFromInline
struct IdentityTable {
  /// The position plus one, with bits of the hash above it, or 0 for a vacant slot.
  @usableFromInline let slots: UnsafeMutablePointer<UInt32>
  @usableFromInline let slotMask: Int
  @usableFromInline let positionMask: UInt32
  @usableFromInline let filter: HashFilter
  @usableFromInline let count: Int
  /// For each position, the next position of the same identity plus one. Empty if there are no
  /// duplicates.
  @usableFromInline var next: [UInt32] = []

  /// Creates a table for positions from 0 up to a count. The owner deallocates it.
  @inlinable
  init(count: Int) {
    self.count = count
    // At most a quarter full, because each collision costs a memory access.
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

  /// Inserts an old element before the elements of the same identity. Insert by descending
  /// position.
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

  /// Takes the first old element of an identity that has not been taken yet.
  ///
  /// - Returns: The position of the element, or -1 if there is none.
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

  /// Takes the next element of an identity whose first element has already been taken.
  @inlinable
  mutating func takeFollowing(_ first: Int, _ taken: TakenPositions, _ slot: Int) -> Int {
    var position = first
    var following = self.following(position)
    while following >= 0, taken[position] {
      position = following
      following = self.following(position)
    }
    // Store the next position, to avoid following the chain from its start again.
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

/// A filter that rejects all but one in eight of the hashes that are not in a set.
///
/// It has eight bits for each element, so it stays in the nearest caches even if the table does
/// not.
@usableFromInline
struct HashFilter {
  @usableFromInline let words: UnsafeMutablePointer<UInt64>
  @usableFromInline let mask: Int

  /// Creates an empty filter. The owner deallocates it.
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

/// A set of positions with one bit for each position.
@usableFromInline
struct TakenPositions {
  @usableFromInline let words: UnsafeMutablePointer<UInt64>

  /// Creates an empty set. The owner deallocates it.
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

/// Pairs old and new elements of the same identity. The first occurrence is paired with the first,
/// the second with the second, and so on.
///
/// - Parameters:
///   - oldCount: The number of old elements.
///   - newCount: The number of new elements.
///   - old: A closure that returns the identity of an old element.
///   - new: A closure that returns the identity of a new element.
///   - pair: A closure that receives each new offset, ascending, and its old offset or -1.
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
