/// How often a ``RecordingObserver`` applies a change to what it had before, which takes O(n).
public enum ReplayChecking: Sendable, Hashable {
  /// For each change, as it comes.
  case every
  /// For each n-th change, as it comes.
  case sampled(Int)
  /// For all changes that are kept, when it is asked for violations.
  case atEnd

  func isDue(at step: Int) -> Bool {
    switch self {
    case .every: true
    case .sampled(let distance): step % max(1, distance) == 0
    case .atEnd: false
    }
  }
}
