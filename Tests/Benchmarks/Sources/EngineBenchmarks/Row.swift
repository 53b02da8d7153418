import Swappable

/// A row of a database.
struct Row: Sendable, Hashable, Identifiable, Differentiable {
  let id: Int
  var name: String
  var section: String
  var size: Int
}
