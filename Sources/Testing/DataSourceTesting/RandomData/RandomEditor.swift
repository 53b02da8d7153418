package import Diffing
package import ObservableCollections

/// A random editor of data sources. Equal seeds give equal edits.
///
///     var editor = RandomEditor(seed: 7)
///     for _ in 0..<100 { try editor.step(source) }
///
/// The editor keeps the collection at about a given size. It checks that each draft shows the
/// edits.
package struct RandomEditor<Element: Differentiable & Sendable>: Sendable {
  /// The seed of the editor.
  let seed: UInt64
  /// The number of steps so far.
  package private(set) var step = 0
  /// The kinds of edits. A kind that occurs twice is used twice as often.
  package var kinds: [RandomEdit]
  /// The size at which the collection stops growing.
  package var size: Int
  /// The maximum number of edits in a transaction.
  var editsPerStep: Int
  /// The generator of the random numbers.
  package var random: SeededGenerator

  private let make: @Sendable (inout SeededGenerator) -> Element
  private let change: @Sendable (inout Element, inout SeededGenerator) -> Void

  /// Creates an editor.
  ///
  /// - Parameters:
  ///   - seed: The seed of the random numbers.
  ///   - size: The size at which the collection stops growing.
  ///   - editsPerStep: The maximum number of edits in a transaction.
  ///   - kinds: The kinds of edits.
  ///   - make: A closure that creates an element. It may repeat identities.
  ///   - change: A closure that changes the content of an element, but not its identity.
  package init(
    seed: UInt64, size: Int = 12, editsPerStep: Int = 4, kinds: [RandomEdit] = RandomEdit.allCases,
    make: @escaping @Sendable (inout SeededGenerator) -> Element,
    change: @escaping @Sendable (inout Element, inout SeededGenerator) -> Void
  ) {
    self.seed = seed
    self.size = size
    self.editsPerStep = editsPerStep
    self.kinds = kinds
    random = SeededGenerator(seed: seed)
    self.make = make
    self.change = change
  }

  /// Creates a random element.
  package mutating func makeElement() -> Element { make(&random) }

  /// Creates a random list of elements.
  ///
  /// - Parameter maximum: The maximum length. The default is ``size``.
  package mutating func makeElements(upTo maximum: Int? = nil) -> [Element] {
    (0..<random.below((maximum ?? size) + 1)).map { _ in make(&random) }
  }

  /// Edits a source in one transaction.
  ///
  /// - Throws: A ``ContractError`` if the draft, or a nested transaction, does not show the edits.
  package mutating func step(_ source: some EditableDataSource<Element>) throws(ContractError) {
    var violation: ContractError?
    source.transaction { draft in
      var model = draft.elements
      for _ in 0...random.below(editsPerStep) {
        let kind = edit(draft, &model, source)
        guard violation == nil, !Snapshot(model).hasSameContents(as: Snapshot(draft.elements))
        else { continue }
        violation = ContractError(
          rule: "T1", message: "after \(kind), the draft has \(draft.elements), not \(model)",
          seed: seed, step: step)
      }
    }
    step += 1
    if let violation { throw violation }
  }

  /// Returns a shuffled, thinned and edited version of a list, with some new elements.
  package mutating func variation(of elements: [Element]) -> [Element] {
    var result = elements.filter { _ in !random.oneIn(4) }
    for index in result.indices where random.oneIn(3) { change(&result[index], &random) }
    if random.oneIn(2) { result.shuffle(using: &random) }
    while result.count < size, !random.oneIn(3) {
      result.insert(make(&random), at: random.below(result.count + 1))
    }
    return result
  }
}

extension RandomEditor where Element == TestElement {
  /// Creates an editor of test elements.
  ///
  /// - Parameters:
  ///   - seed: The seed of the random numbers.
  ///   - size: The size at which the collection stops growing.
  ///   - editsPerStep: The maximum number of edits in a transaction.
  ///   - allowsDuplicates: A Boolean value that indicates whether identities repeat. If `false`,
  ///     each element has a new identity.
  ///   - kinds: The kinds of edits.
  package init(
    seed: UInt64, size: Int = 12, editsPerStep: Int = 4, allowsDuplicates: Bool = true,
    kinds: [RandomEdit] = RandomEdit.allCases
  ) {
    self.init(
      seed: seed, size: size, editsPerStep: editsPerStep, kinds: kinds,
      make: { random in
        let id = allowsDuplicates ? random.below(max(2, size)) : Int(random.next() >> 16)
        return TestElement(id, random.below(3))
      },
      change: { element, random in
        element.content = (element.content + 1 + random.below(2)) % 3
      })
  }
}

private struct Abandoned: Error {}

extension RandomEditor {
  /// Applies one edit to a draft and to its model.
  private mutating func edit(
    _ draft: CollectionDraft<Element>, _ model: inout [Element],
    _ source: some EditableDataSource<Element>
  ) -> RandomEdit {
    var kind = kinds.randomElement(using: &random) ?? .append
    if model.count >= size, [.append, .insert, .insertMany].contains(kind) { kind = .remove }
    let canGrow: Set<RandomEdit> = [.append, .insert, .insertMany, .replace, .nest, .nestAndThrow]
    if model.isEmpty, !canGrow.contains(kind) { kind = .append }
    switch kind {
    case .append, .insert, .insertMany, .remove, .removeMany, .move, .removeAll:
      rearrange(kind, draft, &model)
    case .update, .replaceIdentity, .exchange, .writeEqual, .cancelOut, .replace:
      write(kind, draft, &model)
    case .nest:
      source.transaction { inner in
        let nested = edit(inner, &model, source)
        kind = nested
      }
    case .nestAndThrow:
      let before = model
      do {
        try source.transaction { inner in
          _ = edit(inner, &model, source)
          throw Abandoned()
        }
      } catch {}
      model = before
    }
    return kind
  }

  private mutating func rearrange(
    _ kind: RandomEdit, _ draft: CollectionDraft<Element>, _ model: inout [Element]
  ) {
    let count = model.count
    switch kind {
    case .append:
      let element = make(&random)
      draft.append(element)
      model.append(element)
    case .insert:
      let (element, offset) = (make(&random), random.below(count + 1))
      draft.insert(element, at: offset)
      model.insert(element, at: offset)
    case .insertMany:
      let elements = makeElements(upTo: 3)
      let offset = random.below(count + 1)
      draft.insert(contentsOf: elements, at: offset)
      model.insert(contentsOf: elements, at: offset)
    case .remove:
      let offset = random.below(count)
      draft.remove(at: offset)
      model.remove(at: offset)
    case .removeMany:
      let start = random.below(count + 1)
      let range = start..<min(count, start + 1 + random.below(3))
      draft.removeSubrange(range)
      model.removeSubrange(range)
    case .move:
      let (origin, destination) = (random.below(count), random.below(count))
      draft.move(from: origin, to: destination)
      model.insert(model.remove(at: origin), at: destination)
    default:
      draft.removeAll()
      model = []
    }
  }

  private mutating func write(
    _ kind: RandomEdit, _ draft: CollectionDraft<Element>, _ model: inout [Element]
  ) {
    let offset = model.isEmpty ? 0 : random.below(model.count)
    switch kind {
    case .update:
      change(&model[offset], &random)
      draft[offset] = model[offset]
    case .replaceIdentity:
      model[offset] = make(&random)
      draft[offset] = model[offset]
    case .exchange:
      let other = random.below(model.count)
      model.swapAt(offset, other)
      draft[offset] = model[offset]
      draft[other] = model[other]
    case .writeEqual:
      draft[offset] = model[offset]
    case .cancelOut:
      let element = draft.remove(at: offset)
      draft.insert(element, at: offset)
    default:
      model = variation(of: model)
      draft.replace(with: model)
    }
  }
}

/// A kind of random edit.
package enum RandomEdit: Sendable, Hashable, CaseIterable {
  /// Appends an element.
  case append
  /// Inserts an element at a random offset.
  case insert
  /// Inserts several consecutive elements.
  case insertMany
  /// Removes an element.
  case remove
  /// Removes several consecutive elements.
  case removeMany
  /// Moves an element.
  case move
  /// Changes the content of an element.
  case update
  /// Replaces an element with one of another identity.
  case replaceIdentity
  /// Exchanges two elements by two updates, each of which may change an identity.
  case exchange
  /// Replaces an element with an equal one.
  case writeEqual
  /// Removes an element and inserts it again.
  case cancelOut
  /// Replaces all elements with a shuffled, thinned and edited version.
  case replace
  /// Removes all elements.
  case removeAll
  /// Edits in a nested transaction.
  case nest
  /// Edits in a nested transaction that throws, and therefore has no effect.
  case nestAndThrow
}

/// A random number generator that returns the same numbers for the same seed.
///
/// The algorithm is SplitMix64 (Steele, Lea and Flood, 2014).
public struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var state: UInt64

  /// Creates a generator.
  ///
  /// - Parameter seed: The seed, which can be any value.
  public init(seed: UInt64) {
    state = seed
  }

  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// Returns a random number in `0..<bound`.
  public mutating func below(_ bound: Int) -> Int {
    Int.random(in: 0..<bound, using: &self)
  }

  /// Returns `true` with a probability of one in `count`.
  public mutating func oneIn(_ count: Int) -> Bool {
    below(count) == 0
  }
}
