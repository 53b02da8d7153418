import Foundation
import RemoteSources
import Swappable

/// A row of the served list. Its JSON has about 270 bytes.
struct Row: Codable, Sendable, Hashable, Identifiable, Differentiable {
  var id: Int
  var name: String
  var note: String
  /// The time of the last change, in nanoseconds of the monotonic clock, which all processes share.
  var time: Int

  init(_ id: Int) {
    self.id = id
    name = "Person number \(id)"
    note = String(repeating: "An ordinary line of text. ", count: 8).prefix(194).description
    time = 1_000_000_000_000
  }

  static let count = 63_436
  static var list: [Row] { (0..<count).map { Row($0) } }
}

/// Returns the time of the monotonic clock in nanoseconds.
func now() -> Int {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Returns the processor time of the calling thread in nanoseconds.
func threadTime() -> Int {
  var time = timespec()
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Returns the median, the 99th percentile and the largest of some times.
func summary(_ times: [Int]) -> (median: Double, high: Double, max: Double) {
  let sorted = times.sorted()
  guard let last = sorted.last else { return (0, 0, 0) }
  return (
    Double(sorted[sorted.count / 2]), Double(sorted[sorted.count * 99 / 100]), Double(last)
  )
}
