import Swappable

/// A row as a database has it.
struct Row: Sendable, Hashable, Identifiable, Differentiable {
  let id: Int
  var name: String
  var section: String
  var size: Int
}
