/// A value that waits until there is a newer one.
package struct WaitingValue<Value: Sendable>: Mergeable {
  package typealias Released = Self

  package let value: Value

  package init(value: Value) {
    self.value = value
  }
}
