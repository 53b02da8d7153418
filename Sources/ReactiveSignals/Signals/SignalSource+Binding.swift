extension SignalSource {
  /// Sets a property to each value.
  ///
  /// Two properties must not be bound to each other, because each would set the other forever. Binding a
  /// property to itself traps.
  ///
  /// - Parameter target: The property to set. The binding does not keep it alive.
  /// - Returns: A handle that keeps the binding and this signal alive. Releasing it ends the binding.
  public func bind(to target: Property<Value>) -> Disposable {
    precondition(
      signal.node !== target.signal.node,
      "a property cannot be bound to itself, because each value would set it again")
    return signal.observe { [weak target] in target?.value = $0 }
  }

  /// Sets a part of a property to each value.
  ///
  /// Values that are derived from the same property would set it forever, unless `removeDuplicates()` stops
  /// them.
  ///
  /// - Parameter target: The part to set. The binding does not keep its property alive.
  /// - Returns: A handle that keeps the binding and this signal alive. Releasing it ends the binding.
  public func bind<Root>(to target: PropertyProjection<Root, Value>) -> Disposable {
    let keyPath = target.keyPath
    return signal.observe { [weak property = target.property] value in
      property?.modify { $0[keyPath: keyPath] = value }
    }
  }

  /// Passes each value to a closure.
  ///
  /// - Parameter target: The closure. It is called on the thread that delivers the value.
  /// - Returns: A handle that keeps the binding and this signal alive. Releasing it ends the binding.
  public func bind(to target: @escaping @Sendable (Value) -> Void) -> Disposable {
    signal.observe(target)
  }

  /// Writes each value to a property of an object.
  ///
  /// - Parameters:
  ///   - keyPath: The property. It is written on the thread that delivers the value.
  ///   - object: The object. The binding does not keep it alive.
  /// - Returns: A handle that keeps the binding and this signal alive. Releasing it ends the binding.
  public func bind<Object: AnyObject & Sendable>(
    to keyPath: any ReferenceWritableKeyPath<Object, Value> & Sendable, of object: Object
  ) -> Disposable {
    signal.observe { [weak object] in object?[keyPath: keyPath] = $0 }
  }

  /// Writes the values to a property of an object of the main actor, such as a view.
  ///
  /// - Parameters:
  ///   - keyPath: The property. It is written on the main actor, with the latest pending value.
  ///   - object: The object. The binding does not keep it alive.
  /// - Returns: A handle that keeps the binding and this signal alive. Releasing it ends the binding.
  @MainActor public func bind<Object: AnyObject>(
    onMainActor keyPath: ReferenceWritableKeyPath<Object, Value>, of object: Object
  ) -> Disposable {
    let write: @MainActor @Sendable (Value) -> Void = { [weak object] in
      object?[keyPath: keyPath] = $0
    }
    return signal.observe(on: .mainActor) { value in
      MainActor.assumeIsolated { write(value) }
    }
  }
}
