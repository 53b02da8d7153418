import FileWatching

/// Goes through a new text beside the old one, and finds the old elements in it.
///
/// Elements that are in step are found by comparing bytes, many of them at once: the same bytes with the
/// same byte behind them are the same value, which was checked before. Only what is not found there is
/// read byte by byte, and looked for among all old elements that are left over.
struct JSONElementWalk {
  /// Where the elements of the new text stand.
  private(set) var spans: [Range<Int>] = []
  /// For each of them the old element of the same text, or -1.
  private(set) var origins: [Int] = []

  private let old: UnsafeRawBufferPointer
  private let oldSpans: [Range<Int>]
  private let new: UnsafeRawBufferPointer
  /// The first old element behind those in step, and the end of them all.
  private var next: Int
  private let end: Int
  /// Old elements that were passed over.
  private var leftOver: [Int] = []
  /// How many new elements in a row were not in step.
  private var misses = 0

  /// So far on either side it looks at each element out of step; farther only now and then.
  private static let reach = 8

  init(
    old: UnsafeRawBufferPointer, oldSpans: [Range<Int>], range: Range<Int>,
    new: UnsafeRawBufferPointer
  ) {
    self.old = old
    self.oldSpans = oldSpans
    self.new = new
    next = range.lowerBound
    end = range.upperBound
    spans.reserveCapacity(range.count + 1)
    origins.reserveCapacity(range.count + 1)
  }

  /// Splits from the first element on.
  ///
  /// - Parameter limit: Where an element begins that is known to follow; nil for the end of the array.
  /// - Returns: whether it came there.
  mutating func run(
    _ scanner: inout JSONScanner, upTo limit: Int?
  ) throws(JSONScanner.Fault) -> Bool {
    repeat {
      if scanner.next == nil { throw scanner.truncated("array") }
      if let limit, scanner.position >= limit { return scanner.position == limit }
      if let place = place(of: scanner.position) {
        follow(from: place, at: scanner.position)
        misses = 0
        if let last = spans.last { scanner.jump(to: last.upperBound) }
      } else {
        spans.append(try scanner.scanElement(offset: spans.count))
        origins.append(-1)
        misses += 1
      }
      scanner.skipSpace()
    } while try scanner.scanSeparator(closing: UInt8(ascii: "]"), of: "array")
    try JSONElement.scanEnd(&scanner, after: "array")
    return limit == nil
  }

  // MARK: - In step

  /// The old element that the new one at a position is likely to be.
  private func place(of position: Int) -> Int? {
    guard next < end else { return nil }
    // Updated, or inserted before it.
    let updated = next + misses
    if updated < end, isSame(updated, position) { return updated }
    if misses > 0, isSame(next, position) { return next }
    var reach = Self.reach
    if misses >= reach {
      // The farther apart, the more seldom.
      guard misses & (misses - 1) == 0 else { return nil }
      reach = 4 * misses
    }
    for place in (next + 1)..<max(next + 1, min(end, updated + reach))
    where place != updated && isSame(place, position) {
      return place
    }
    return nil
  }

  /// Whether an old element and what follows it at once stand at a position.
  private func isSame(_ place: Int, _ position: Int) -> Bool {
    let span = oldSpans[place]
    guard span.upperBound < old.count, position + span.count < new.count else { return false }
    return new[position] == old[span.lowerBound]
      && ByteComparison.commonPrefix(
        UnsafeRawBufferPointer(rebasing: old[span.lowerBound...span.upperBound]),
        UnsafeRawBufferPointer(rebasing: new[position...(position + span.count)]))
        == span.count + 1
  }

  /// Takes over all old elements from one on, as long as the bytes are the same.
  private mutating func follow(from place: Int, at position: Int) {
    leftOver += next..<place
    let start = oldSpans[place].lowerBound
    let common = ByteComparison.commonPrefix(
      UnsafeRawBufferPointer(rebasing: old[start...]),
      UnsafeRawBufferPointer(rebasing: new[position...]))
    next = place
    while next < end, oldSpans[next].upperBound - start < common {
      spans.append(oldSpans[next].shifted(by: position - start))
      origins.append(next)
      next += 1
    }
  }

  // MARK: - Out of step

  /// Looks for elements that were not in step among the old ones that were not.
  mutating func matchRest() {
    leftOver += next..<end
    next = end
    guard !leftOver.isEmpty, origins.contains(-1) else { return }
    // Of several of one text the first is taken first; each names the next.
    var places: [Text: Int] = [:]
    places.reserveCapacity(leftOver.count)
    var following = Array(repeating: -1, count: leftOver.count)
    for (index, place) in leftOver.enumerated().reversed() {
      following[index] = places.updateValue(index, forKey: Text(old, oldSpans[place])) ?? -1
    }
    for (index, origin) in origins.enumerated() where origin < 0 {
      let text = Text(new, spans[index])
      guard let found = places[text], found >= 0 else { continue }
      origins[index] = leftOver[found]
      places[text] = following[found]
    }
  }

  /// A text by its bytes.
  private struct Text: Hashable {
    let bytes: UnsafeRawBufferPointer

    init(_ text: UnsafeRawBufferPointer, _ span: Range<Int>) {
      bytes = UnsafeRawBufferPointer(rebasing: text[span])
    }

    static func == (left: Text, right: Text) -> Bool {
      left.bytes.count == right.bytes.count
        && ByteComparison.commonPrefix(left.bytes, right.bytes) == left.bytes.count
    }

    func hash(into hasher: inout Hasher) { hasher.combine(bytes: bytes) }
  }
}
