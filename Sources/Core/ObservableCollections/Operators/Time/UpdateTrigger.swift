import ReactiveSignals
public import SwappablePrimitives

/// An input without contents, through which a timer or a task makes an operator edit its output.
///
/// It is a root in the domain of the operator. Each call of ``send()`` is a commit there, so it takes its turn among the
/// changes of the source, and the operator is called by one thread at a time.
@usableFromInline
final class UpdateTrigger: Sendable {
  fileprivate let root: Node

  fileprivate init(_ root: Node) {
    self.root = root
  }

  /// Calls the operator's `update(_:)`, at once or when the current propagation pass ends.
  func send() { root.send(value: true) }
}

extension OperatorInputs {
  /// Adds an input through which a timer or a task calls the operator. The collection that the operator follows must be
  /// added first.
  @usableFromInline
  func updateTrigger() -> UpdateTrigger {
    guard let source = collections.first?.input.node else {
      preconditionFailure("an operator can only be woken if it follows a collection")
    }
    let root = Node(domain: source.domain, state: SignalValue(true), type: UpdateTrigger.self)
    inputs.append(NodeInput(root))
    return UpdateTrigger(root)
  }
}

extension OperatorInputs {
  /// Adds the input of another operator in the same domain.
  func add(_ updateTrigger: UpdateTrigger) {
    inputs.append(NodeInput(updateTrigger.root))
  }

  /// Adds an alarm. The collection that the operator follows must be added first.
  @usableFromInline
  func alarm(_ clock: any Clock<Duration>) -> Alarm {
    let updateTrigger = updateTrigger()
    return Alarm(AnyClock(clock)) { _ in updateTrigger.send() }
  }
}
