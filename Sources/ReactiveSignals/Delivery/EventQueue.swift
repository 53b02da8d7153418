/// A first-in, first-out queue of events. Both ends take amortized constant time.
package struct EventQueue: Sendable {
  private var elements: [Event?] = []
  private var head = 0

  package init() {}

  package var isEmpty: Bool { head == elements.count }

  package var count: Int { elements.count - head }

  package mutating func append(_ element: Event) {
    elements.append(element)
  }

  package mutating func popFirst() -> Event? {
    guard head < elements.count else { return nil }
    let first = elements[head]
    elements[head] = nil
    head += 1
    if head == elements.count {
      elements.removeAll(keepingCapacity: head <= 64)
      head = 0
    } else if head >= 64, head > elements.count / 2 {
      elements.removeFirst(head)
      head = 0
    }
    return first
  }

  /// The first element, without taking it out.
  package var first: Event? {
    head < elements.count ? elements[head] : nil
  }
}
