import ReactiveSignals
import SwappableSources

/// The attachments of the tests of the swap state machine.
private enum Attachments {
  private final class Collection: Sendable {}

  private static let collections = (0..<5).map { _ in Collection() }

  static let all = (0..<5_000).map { number in
    SwapAttachment(
      collection: ObjectIdentifier(collections[number % 5]), isGrouped: number % 10 >= 5)
  }

  static let numbers = Dictionary(
    uniqueKeysWithValues: all.enumerated().map { (ObjectIdentifier($1), $0) })
}

/// Returns the attachment of a number.
///
/// If the last digit of the number is 5 or more, the attachment is one of a group. The digit modulo 5 is the collection.
func numbered(_ number: Int) -> SwapAttachment { Attachments.all[number] }

extension SwapAttachment {
  var number: Int {
    guard let number = Attachments.numbers[ObjectIdentifier(self)] else {
      preconditionFailure("this is no attachment of the tests")
    }
    return number
  }
}

/// A value that stands for the contents of a source.
private final class ContentsBox<Value: Sendable>: Sendable {
  let value: Value

  init(_ value: Value) { self.value = value }

  static func value(of box: NodeState) -> Value {
    guard let box = box as? ContentsBox<Value> else {
      preconditionFailure("these are no contents of the tests")
    }
    return box.value
  }
}

extension SwapContents {
  init(value: some Sendable, _ readiness: SwapReadiness) {
    self.init(ContentsBox(value), readiness)
  }

  func value<Value: Sendable>() -> Value { ContentsBox.value(of: box) }
}

extension SwapUpdate {
  init(value: some Sendable, _ readiness: SwapReadiness) {
    self.init(
      ContentsBox(value), SwapContents(value: value, readiness), [], in: Domain())
  }

  func value<Value: Sendable>() -> Value { ContentsBox.value(of: update) }
}
