/// A value that can be read and observed: a property, a view of one, or a part of one.
///
/// Operators of collections take it where a parameter may change:
///
///     let query = Property("")
///     let found = todos.filter(by: query) { todo, query in todo.title.contains(query) }
public protocol PropertySource<Value>: SignalSource {
  /// A read-only view of the value.
  var readOnly: ReadOnlyProperty<Value> { get }
}

extension Property: PropertySource {}
extension PropertyProjection: PropertySource {}

extension ReadOnlyProperty: PropertySource {
  /// The property itself.
  public var readOnly: ReadOnlyProperty<Value> { self }
}
