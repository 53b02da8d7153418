/// Numbers of edits at random places of a list.
struct Edits<Element> {
  var updated = 0
  var deleted = 0
  var inserted: [Element] = []
  var moved = 0
}

extension Array {
  /// Returns this list after edits at random places. No element is edited twice.
  func edited(
    _ edits: Edits<Element>, using generator: inout SeededGenerator,
    update: (inout Element) -> Void = { _ in }
  ) -> [Element] {
    let chosen = Array<Int>(indices).shuffled(using: &generator)
    let moved = chosen.prefix(edits.moved)
    let updated = chosen.dropFirst(edits.moved).prefix(edits.updated)
    let deleted = chosen.dropFirst(edits.moved + edits.updated).prefix(edits.deleted)

    var isTaken = [Bool](repeating: false, count: count)
    for index in moved { isTaken[index] = true }
    for index in deleted { isTaken[index] = true }
    var result = self
    for index in updated { update(&result[index]) }
    let kept = result.indices.lazy.filter { !isTaken[$0] }.map { result[$0] }
    let arrivals = (edits.inserted + moved.map { self[$0] }).shuffled(using: &generator)
    return Array(kept).with(arrivals, using: &generator)
  }

  /// Returns this list with other elements inserted at random places, in their order.
  private func with(_ arrivals: [Element], using generator: inout SeededGenerator) -> [Element] {
    var places: [Int] = []
    for _ in arrivals { places.append(Int.random(in: 0...count, using: &generator)) }
    places.sort()
    var result: [Element] = []
    result.reserveCapacity(count + arrivals.count)
    var start = 0
    for (place, arrival) in zip(places, arrivals) {
      result.append(contentsOf: self[start..<place])
      result.append(arrival)
      start = place
    }
    result.append(contentsOf: self[start...])
    return result
  }

  /// Returns this list with each element moved by a random distance.
  func jittered(by reach: Int, using generator: inout SeededGenerator) -> [Element] {
    var keyed: [(key: Int, index: Int)] = []
    for index in indices {
      keyed.append((index + Int.random(in: -reach...reach, using: &generator), index))
    }
    // Equal keys are ordered by place, so the result depends only on the generator.
    keyed.sort { ($0.key, $0.index) < ($1.key, $1.index) }
    return keyed.map { self[$0.index] }
  }

  /// Returns this list with its blocks of a size shuffled.
  func shuffledBlocks(of size: Int, using generator: inout SeededGenerator) -> [Element] {
    stride(from: 0, to: count, by: size).shuffled(using: &generator)
      .flatMap { self[$0..<Swift.min($0 + size, count)] }
  }
}

extension String {
  /// Returns an equal string with storage of its own, as a decoder would create it.
  func reallocated() -> String {
    let copy = String(decoding: Array(utf8), as: UTF8.self)
    precondition(!sharesStorage(with: copy), "A string so short has no storage: \(self)")
    return copy
  }

  /// Returns whether two strings have the same bytes and the same storage.
  func sharesStorage(with other: String) -> Bool {
    withUnsafeBytes(of: self) { a in withUnsafeBytes(of: other) { b in a.elementsEqual(b) } }
  }
}

extension Row {
  /// Returns an equal row whose string has storage of its own.
  func reallocated() -> Row {
    Row(id: id, name: name.reallocated(), value: value)
  }
}
