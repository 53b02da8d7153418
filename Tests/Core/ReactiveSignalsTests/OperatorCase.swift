import ReactiveSignals
import Testing

/// An operator that sends each number of its input immediately, for tests of rules that hold for all operators.
struct OperatorCase: Sendable, CustomTestStringConvertible {
  let name: String
  /// A Boolean value that indicates whether the result is in the domain of the input.
  let staysInDomain: Bool
  /// Applies the operator, with a closure that is called as the operator's own closure, if it takes one.
  let make: @Sendable (Signal<Int>, @escaping @Sendable () -> Void) -> Signal<Int>

  var testDescription: String { name }

  /// All operators.
  static let all = domestic + foreign

  private static func inDomain(
    _ name: String,
    _ make: @escaping @Sendable (Signal<Int>, @escaping @Sendable () -> Void) -> Signal<Int>
  ) -> OperatorCase {
    OperatorCase(name: name, staysInDomain: true, make: make)
  }

  private static func boundary(
    _ name: String,
    _ make: @escaping @Sendable (Signal<Int>, @escaping @Sendable () -> Void) -> Signal<Int>
  ) -> OperatorCase {
    OperatorCase(name: name, staysInDomain: false, make: make)
  }

  private static let domestic = [
    inDomain("map") { signal, called in
      signal.map { value in
        called()
        return value
      }
    },
    inDomain("filter") { signal, called in
      signal.filter { _ in
        called()
        return true
      }
    },
    inDomain("compactMap") { signal, called in
      signal.compactMap { value in
        called()
        return value
      }
    },
    inDomain("scan") { signal, called in
      signal.scan(0) { _, value in
        called()
        return value
      }
    },
    inDomain("removeDuplicates") { signal, called in
      signal.removeDuplicates { _, _ in
        called()
        return false
      }
    },
    inDomain("combineLatest in a domain") { signal, _ in
      signal.combineLatest(signal.map { $0 }).map { max($0, $1) }
    },
    inDomain("combineLatest of three in a domain") { signal, _ in
      signal.combineLatest(signal, signal).map { max($0, $1, $2) }
    },
    inDomain("zip in a domain") { signal, _ in signal.zip(signal).map { max($0, $1) } },
  ]

  private static let foreign = [
    boundary("merge") { signal, _ in signal.merge(with: SignalInput<Int>().signal) },
    boundary("combineLatest") { signal, _ in
      signal.combineLatest(Property(0).signal).map { value, _ in value }
    },
    boundary("switchToLatest") { signal, _ in Property(signal).signal.switchToLatest() },
    boundary("receive immediately") { signal, _ in signal.receive(on: .immediate) },
    boundary("receive elsewhere") { signal, _ in
      signal.receive(on: DeliveryScheduler { $0() }, policy: .everything)
    },
  ]
}
