import Synchronization

/// Replaces `print` in the code of a guide, and keeps the text.
final class Printed: Sendable {
  private let text = Mutex<[String]>([])

  /// The printed lines.
  var lines: [String] { text.withLock { $0 } }

  func callAsFunction(_ items: Any...) {
    let line = items.map { "\($0)" }.joined(separator: " ")
    text.withLock { $0.append(line) }
  }
}
