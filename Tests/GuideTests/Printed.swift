import Synchronization

/// Stands for `print` in the code of a guide, and keeps what is printed.
final class Printed: Sendable {
  private let text = Mutex<[String]>([])

  /// What was printed, in lines.
  var lines: [String] { text.withLock { $0 } }

  func callAsFunction(_ items: Any...) {
    let line = items.map { "\($0)" }.joined(separator: " ")
    text.withLock { $0.append(line) }
  }
}
