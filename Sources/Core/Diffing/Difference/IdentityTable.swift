/// A hash table that finds old elements by identity. It returns each element once, and elements of
/// equal identity by ascending position.
///
/// The table stores only positions and hashes. The caller compares the identities. An entry is half
/// a word: the position, and as many bits of the hash as fit. Most lookups therefore need one
/// memory access. A filter before the table rejects most absent elements.
@usableFromInline
struct IdentityTable: ~Copyable {
  /// The position plus one, with bits of the hash above it, or 0 for a vacant slot.
  @usableFromInline let slots: UnsafeMutablePointer<UInt32>
  @usableFromInline let slotMask: Int
  @usableFromInline let positionMask: UInt32
  @usableFromInline let count: Int
  /// For each position, the next position of the same identity plus one. Empty if there are no
  /// duplicates.
  @usableFromInline var next: [UInt32] = []
  /// The hashes in the table.
  @usableFromInline let filter: BitSet
  /// The positions that have been taken.
  @usableFromInline let taken: BitSet

  /// Creates an empty table for positions from 0 up to a count.
  @inlinable
  init(count: Int) {
    self.count = count
    // At most a quarter full, because each collision costs a memory access.
    var capacity = 16
    while capacity < 4 * count { capacity *= 2 }
    positionMask = .max >> UInt32(UInt32(truncatingIfNeeded: count).leadingZeroBitCount)
    slotMask = capacity - 1
    slots = .allocate(capacity: capacity)
    slots.initialize(repeating: 0, count: capacity)
    filter = BitSet(count: 8 * count)
    taken = BitSet(count: count)
  }

  @inlinable
  deinit {
    slots.deallocate()
  }

  /// Creates a table of old elements.
  ///
  /// - Parameters:
  ///   - count: The number of old elements.
  ///   - hash: A closure that returns the hash of an element's identity.
  ///   - isWanted: A closure that indicates whether an element with a hash may be taken. Other
  ///     elements are left out.
  ///   - areSame: A closure that indicates whether two elements have the same identity.
  @inlinable
  init(
    count: Int, hash: (Int) -> UInt64, isWanted: (_ hash: UInt64) -> Bool = { _ in true },
    areSame: (Int, Int) -> Bool
  ) {
    self.init(count: count)
    // Backward, because an element is inserted before the elements of the same identity.
    for position in stride(from: count - 1, through: 0, by: -1) {
      let hash = hash(position)
      if !isWanted(hash) { continue }
      let slot = slot(of: hash) { areSame($0, position) }
      if slots[slot] != 0 {
        if next.isEmpty { next = Array(repeating: 0, count: count) }
        next[position] = slots[slot] & positionMask
      }
      put(position, hash: hash, in: slot)
    }
  }

  /// Returns the slot of an identity, which is vacant if the table does not contain the identity.
  @inlinable
  func slot(of hash: UInt64, isSame: (Int) -> Bool) -> Int {
    let tag = tag(of: hash)
    var slot = Int(truncatingIfNeeded: hash) & slotMask
    while slots[slot] != 0 {
      if slots[slot] & ~positionMask == tag, isSame(position(in: slot)) { break }
      slot = (slot + 1) & slotMask
    }
    return slot
  }

  @inlinable
  func tag(of hash: UInt64) -> UInt32 {
    UInt32(truncatingIfNeeded: hash >> 32) & ~positionMask
  }

  /// Returns the position in a slot, or -1 if the slot is vacant.
  @inlinable
  func position(in slot: Int) -> Int { Int(slots[slot] & positionMask) - 1 }

  @inlinable
  func put(_ position: Int, hash: UInt64, in slot: Int) {
    slots[slot] = tag(of: hash) | UInt32(truncatingIfNeeded: position + 1)
    filter.insert(hash: hash)
  }

  /// Takes the first old element of an identity that has not been taken yet.
  ///
  /// - Returns: The position of the element, or -1 if there is none.
  @inlinable
  func take(hash: UInt64, isSame: (Int) -> Bool) -> Int {
    if !filter.mayContain(hash: hash) { return -1 }
    let slot = slot(of: hash, isSame: isSame)
    var position = position(in: slot)
    if position < 0 { return -1 }
    if !taken.contains(position) {
      taken.insert(position)
      return position
    }
    var following = following(position)
    while following >= 0, taken.contains(position) {
      position = following
      following = self.following(position)
    }
    // Store the next position, to avoid following the chain from its start again.
    slots[slot] = slots[slot] & ~positionMask | UInt32(truncatingIfNeeded: position + 1)
    if taken.contains(position) { return -1 }
    taken.insert(position)
    return position
  }

  @inlinable
  func following(_ position: Int) -> Int {
    next.isEmpty ? -1 : Int(next[position]) - 1
  }

  /// Pairs old and new elements of the same identity. The first occurrence is paired with the first,
  /// the second with the second, and so on.
  ///
  /// - Parameters:
  ///   - oldCount: The number of old elements.
  ///   - newCount: The number of new elements.
  ///   - old: A closure that returns the identity of an old element.
  ///   - new: A closure that returns the identity of a new element.
  ///   - body: A closure that receives each pair, by ascending new offset.
  @inlinable
  static func pair<Identifier: Hashable>(
    oldCount: Int, newCount: Int, old: (Int) -> Identifier, new: (Int) -> Identifier,
    body: (_ old: Int, _ new: Int) -> Void
  ) {
    let hasher = IdentityHasher()
    let table = IdentityTable(count: oldCount) {
      hasher.hash(old($0))
    } areSame: {
      old($0).isSameIdentity(as: old($1))
    }
    for offset in 0..<newCount {
      let identifier = new(offset)
      let found = table.take(hash: hasher.hash(identifier)) {
        old($0).isSameIdentity(as: identifier)
      }
      if found >= 0 { body(found, offset) }
    }
  }
}

extension RandomAccessCollection {
  /// Returns the offsets of the first element whose key an earlier element has, and of this earlier
  /// element.
  ///
  /// - Parameter key: A closure that returns the key of an element.
  /// - Returns: The two offsets, or `nil` if all keys are unique.
  /// - Complexity: O(*n*).
  @inlinable
  package func firstDuplicate<Key: Hashable>(by key: (Element) -> Key) -> (Int, Int)? {
    let hasher = IdentityHasher()
    let table = IdentityTable(count: count)
    for (offset, element) in enumerated() {
      let identity = key(element)
      let hash = hasher.hash(identity)
      let slot = table.slot(of: hash) { key(self.element(at: $0)) == identity }
      let first = table.position(in: slot)
      if first >= 0 { return (first, offset) }
      table.put(offset, hash: hash, in: slot)
    }
    return nil
  }
}
