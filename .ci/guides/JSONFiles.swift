import Swappable

struct Person: Codable, Hashable, Identifiable, Sendable, Differentiable {
  let id: Int
  var name: String
}

typealias Entry = Person

// After the page:
print(people.count, entries.count, anything.count, names.count, payments.count)
