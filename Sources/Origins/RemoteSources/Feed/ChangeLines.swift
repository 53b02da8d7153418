import SwappablePrimitives

/// A revision that subscribers can have.
struct FeedPoint: Sendable {
  let revision: Int
  let fingerprint: String
}

extension [FeedPoint] {
  /// Returns the point to which a subscriber comes that is far behind the latest revision.
  ///
  /// It is the end of a block of 16, 32, 64 … revisions. A subscriber comes to the end of its block, and then from block
  /// to block. Therefore, subscribers with different revisions soon share all their lines.
  ///
  /// - Returns: The point, or `nil` if the block at the revision contains the latest one.
  func blockEnd(from revision: Int, before latest: Int) -> FeedPoint? {
    var end: FeedPoint?
    var size = 16
    while true {
      let start = revision & ~(size - 1)
      // A block begins at the first point in it. A subscriber inside of a block comes to its end.
      if size > 16, first(from: start)?.revision != revision { return end }
      guard let next = first(from: start + size), next.revision < latest else { return end }
      end = next
      size *= 2
    }
  }

  private func first(from revision: Int) -> FeedPoint? {
    let index = partitioningIndex { $0.revision >= revision }
    return index < count ? self[index] : nil
  }
}

/// The `change` lines that subscribers share.
struct ChangeLines: Sendable {
  private struct Span: Hashable, Sendable {
    let start: Int
    let end: Int
  }

  private struct WeakLine: Sendable {
    weak let line: Feed.Line.Storage?
  }

  /// The lines that subscribers are receiving, and some that are no longer used.
  private var lines: [Span: WeakLine] = [:]
  /// The number of lines at which those that are no longer used are removed.
  private var limit = 64
  /// The latest lines, for subscribers that need them soon.
  private var latest: [Feed.Line] = []
  private var latestBytes = 0
  private weak var large: Feed.Line.Storage?
  /// A Boolean value that indicates whether another large line may be used. Otherwise, each search would visit all lines.
  private var mayHaveLarge = false

  /// Returns a Boolean value that indicates whether a subscriber is receiving a large line, or may need it soon.
  mutating func hasLargeLine() -> Bool {
    if large == nil, mayHaveLarge {
      large = lines.values.lazy.compactMap(\.line).first(where: Self.isLarge)
      mayHaveLarge = large != nil
    }
    return large != nil
  }

  private static func isLarge(_ line: Feed.Line.Storage) -> Bool { line.bytes.count >= 16 << 10 }

  /// Returns the line from a revision to another one, or `nil` if it is not used.
  func line(from start: Int, to end: Int) -> Feed.Line? {
    (lines[Span(start: start, end: end)]?.line).map { Feed.Line(storage: $0) }
  }

  /// Shares a line with other subscribers.
  ///
  /// - Returns: The line that another thread has shared meanwhile, or the given one.
  mutating func share(_ line: Feed.Line, from start: Int) -> Feed.Line {
    let end = line.storage.revision
    if let known = self.line(from: start, to: end) { return known }
    if lines.count >= limit {
      lines = lines.filter { $0.value.line != nil }
      limit = 2 * lines.count + 64
    }
    lines[Span(start: start, end: end)] = WeakLine(line: line.storage)
    if Self.isLarge(line.storage) { (large, mayHaveLarge) = (line.storage, true) }
    // One line may be larger than the limit.
    if latestBytes + line.bytes.count > 1 << 20 { releaseLatest() }
    latest.append(line)
    latestBytes += line.bytes.count
    return line
  }

  /// Releases the lines that no subscriber is receiving. There is a later revision.
  mutating func releaseLatest() {
    (latest, latestBytes) = ([], 0)
  }
}
