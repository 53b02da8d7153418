import Swappable

/// What is derived from rows, with observers.
struct Derived {
  let observations: [Disposable]
  /// The number of elements of the source's type, or 0 for a property.
  let count: () -> Int
  var parameterChanges: [ParameterChange] = []

  init<Element>(_ list: LiveCollection<Element>, _ parameterChanges: [ParameterChange] = []) {
    observations = [list.observe { _ in }]
    count = { list.count }
    self.parameterChanges = parameterChanges
  }

  init<Value>(_ property: ReadOnlyProperty<Value>) {
    observations = [property.observe { _ in }]
    count = { 0 }
  }

  /// Creates groups of all elements of a list.
  init(of rows: ArrayDataSource<Row>, observations: [Disposable]) {
    self.observations = observations
    count = { rows.count }
  }
}

/// A change of a parameter, which is measured.
struct ParameterChange {
  let name: String
  /// Sets the parameter before the measured change.
  var prepare: () -> Void = {}
  let run: () -> Void
}

/// Operators that are measured.
struct Pipeline: Sendable {
  let name: String
  let target: Target?
  let derive: @Sendable (ArrayDataSource<Row>) -> Derived

  /// Creates a pipeline with a collection at its end.
  init<Element>(
    _ name: String, _ target: Target? = nil,
    _ derive: @escaping @Sendable (ArrayDataSource<Row>) -> LiveCollection<Element>
  ) {
    (self.name, self.target) = (name, target)
    self.derive = { Derived(derive($0)) }
  }

  /// Creates a pipeline with a property at its end.
  init<Value>(
    _ name: String, _ target: Target? = nil,
    _ derive: @escaping @Sendable (ArrayDataSource<Row>) -> ReadOnlyProperty<Value>
  ) {
    (self.name, self.target) = (name, target)
    self.derive = { Derived(derive($0)) }
  }

  /// Creates a pipeline that divides all rows into groups, which it observes.
  init(
    _ name: String, groups observe: @escaping @Sendable (ArrayDataSource<Row>) -> [Disposable]
  ) {
    (self.name, target) = (name, .grouped)
    derive = { Derived(of: $0, observations: observe($0)) }
  }

  /// Creates a pipeline of work for rows, without an output.
  init(
    _ name: String, work observe: @escaping @Sendable (ArrayDataSource<Row>) -> [Disposable]
  ) {
    (self.name, target) = (name, nil)
    derive = { Derived(of: $0, observations: observe($0)) }
  }

  /// Creates a pipeline with a parameter.
  init<Element, Value>(
    _ name: String, _ target: Target? = nil,
    parameter: @escaping @Sendable (_ rows: ArrayDataSource<Row>) -> Property<Value>,
    changes: @escaping @Sendable (_ parameter: Property<Value>, _ count: Int) -> [ParameterChange],
    _ derive:
      @escaping @Sendable (ArrayDataSource<Row>, Property<Value>) -> LiveCollection<Element>
  ) {
    (self.name, self.target) = (name, target)
    self.derive = { rows in
      let parameter = parameter(rows)
      return Derived(derive(rows, parameter), changes(parameter, rows.count))
    }
  }
}

/// A pipeline over a list of its own.
final class Subject {
  let pipeline: Pipeline
  let rows: ArrayDataSource<Row>
  private(set) var derived: Derived?

  init(_ pipeline: Pipeline, _ rows: [Row]) {
    self.pipeline = pipeline
    self.rows = ArrayDataSource(rows)
  }

  func derive() {
    derived = pipeline.derive(rows)
  }

  func release() {
    derived = nil
  }
}
