import Swappable

final class Label: Sendable {
  private let property = Property("")
  var text: String {
    get { property.value }
    set { property.value = newValue }
  }
}

let (stream, continuation) = AsyncStream.makeStream(of: String.self)
let other = Property("")
let label = Label()
// On the main actor
// After the page:
// The text has: bind(onMainActor: \.text, of: label)
name.bind(onMainActor: \.text, of: label).dispose()
