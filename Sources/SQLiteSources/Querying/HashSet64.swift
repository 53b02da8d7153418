/// A set of numbers that are hashes already: open addressing, linear probing.
struct HashSet64: Sendable {
  /// 0 marks a free slot.
  private var slots: ContiguousArray<UInt64> = []
  private var count = 0

  init() {}

  /// Makes room for so many numbers.
  mutating func reserveCapacity(_ capacity: Int) {
    if 2 * capacity > slots.count { grow(to: capacity) }
  }

  /// Inserts a number.
  ///
  /// - Returns: `false` where it is there already.
  mutating func insert(_ number: UInt64) -> Bool {
    if 2 * (count + 1) > slots.count { grow(to: max(16, 2 * count)) }
    let slot = slot(of: number)
    guard slots[slot] == 0 else { return false }
    slots[slot] = HashSet64.stored(number)
    count += 1
    return true
  }

  /// Removes a number, if it is there.
  mutating func remove(_ number: UInt64) {
    guard !slots.isEmpty else { return }
    var free = slot(of: number)
    guard slots[free] != 0 else { return }
    count -= 1
    // What was pushed on over this slot comes back, so that no probe ends too early.
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
