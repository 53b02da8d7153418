import Swappable

struct Todo: Codable, Hashable, Identifiable, Sendable, Differentiable {
  let id: Int
  var title: String
}
