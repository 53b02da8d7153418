import Swappable

struct Place: Hashable, Identifiable, Sendable, Differentiable {
  let id: Int
  var city: String
}

let guests = ArrayDataSource<Place>([])
let hotels = ArrayDataSource<Place>([])

// After the page:
// The text has: guests.joined(with: hotels, on: \.city, equals: \.city)
let rooms = guests.joined(with: hotels, on: \.city, equals: \.city)
print(rooms.count)
