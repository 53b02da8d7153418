extension Property {
  /// A view that cannot set it.
  public var readOnly: ReadOnlyProperty<Value> { ReadOnlyProperty(self) }

  /// Makes a view of what becomes of the value: readable at once, and always right.
  ///
  ///     let count = names.map { $0.count }
  ///     names.value.append("Ada")
  ///     print(count.value)
  ///
  /// It agrees with this property at each moment, also while a value is on its way to observers.
  ///
  /// - Parameter transform: Called once for each value that is set, however many observe the result,
  ///   and for each reading while a value is on its way. It must depend on nothing but the value.
  /// - Complexity: O(1) to read, and for each value.
  public func map<Output: Sendable>(
    _ transform: @escaping @Sendable (Value) -> Output
  ) -> ReadOnlyProperty<Output> {
    readOnly.map(transform)
  }

  /// Makes a view of a part of the value that can be set; that sets it in the whole.
  ///
  ///     let city = person.projection(\.address.city)
  ///     city.value = "Turin"
  ///
  /// - Parameter keyPath: The part.
  public func projection<Part: Sendable>(
    _ keyPath: any WritableKeyPath<Value, Part> & Sendable
  ) -> PropertyProjection<Value, Part> {
    PropertyProjection(self, keyPath)
  }
}
