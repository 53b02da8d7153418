extension SignalSource {
  /// Makes a property follow the values.
  ///
  /// Two properties must not follow each other: each would set the other for ever. One that is to
  /// follow itself traps.
  ///
  /// - Parameter target: What is set; it is not kept alive.
  /// - Returns: What keeps the binding and this signal alive; letting it go ends it.
  public func bind(to target: Property<Value>) -> Disposable {
    precondition(
      signal.node !== target.signal.node,
      "a property is bound to itself, which would set it for ever; bind it to another one")
    return signal.observe { [weak target] in target?.value = $0 }
  }

  /// Makes a part of a property follow the values.
  ///
  /// Values made of that same property would set it for ever, unless `removeDuplicates()` stops them.
  ///
  /// - Parameter target: What is set; its property is not kept alive.
  /// - Returns: What keeps the binding and this signal alive; letting it go ends it.
  public func bind<Root>(to target: PropertyProjection<Root, Value>) -> Disposable {
    let keyPath = target.keyPath
    return signal.observe { [weak property = target.property] value in
      property?.modify { $0[keyPath: keyPath] = value }
    }
  }

  /// Hands the values to a closure.
  ///
  /// - Parameter target: Called with each value, where it is brought.
  /// - Returns: What keeps the binding and this signal alive; letting it go ends it.
  public func bind(to target: @escaping @Sendable (Value) -> Void) -> Disposable {
    signal.observe(target)
  }

  /// Writes the values into a property of an object.
  ///
  /// - Parameters:
  ///   - keyPath: What is written, where the value is brought.
  ///   - object: Whose it is; it is not kept alive.
  /// - Returns: What keeps the binding and this signal alive; letting it go ends it.
  public func bind<Object: AnyObject & Sendable>(
    to keyPath: any ReferenceWritableKeyPath<Object, Value> & Sendable, of object: Object
  ) -> Disposable {
    signal.observe { [weak object] in object?[keyPath: keyPath] = $0 }
  }

  /// Writes the values into a property of an object of the main actor, such as a view.
  ///
  /// - Parameters:
  ///   - keyPath: What is written, on the main actor; of values that wait, the newest.
  ///   - object: Whose it is; it is not kept alive.
  /// - Returns: What keeps the binding and this signal alive; letting it go ends it.
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
