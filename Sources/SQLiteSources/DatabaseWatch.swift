/// How a monitor is told that files were touched; a struct of closures, so that tests can do it.
struct DatabaseWatch: Sendable {
  /// Watches `paths` until the returned closure is called; `nil` where it cannot.
  var start:
    @Sendable (_ paths: [String], _ onHint: @escaping @Sendable () -> Void) ->
      (@Sendable () -> Void)?

  /// Watches nothing: the steady look has to find everything.
  static let none = DatabaseWatch { _, _ in nil }
}
