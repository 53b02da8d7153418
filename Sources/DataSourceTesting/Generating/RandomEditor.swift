public import Diffing
public import ObservableCollections

/// Edits a data source at random, and the same way again from the same seed.
///
///     var editor = RandomEditor(seed: 7)
///     for _ in 0..<100 { try editor.step(source) }
///
/// It keeps the collection at about the size that it is told, and checks that the draft shows what
/// was done to it.
public struct RandomEditor<Element: Differentiable & Sendable>: Sendable {
  /// What it began with.
  public let seed: UInt64
  /// How many steps were done.
  public private(set) var step = 0
  /// What is to occur; a kind that is named twice occurs twice as often.
  public var kinds: [RandomEdit]
  /// Where the collection grows no more.
  public var size: Int
  /// How many edits a transaction has at most.
  public var editsPerStep: Int
  /// Where its numbers come from.
  public var random: SeededGenerator

  private let make: @Sendable (inout SeededGenerator) -> Element
  private let change: @Sendable (inout Element, inout SeededGenerator) -> Void

  /// Makes an editor.
  ///
  /// - Parameters:
  ///   - seed: Tells its edits.
  ///   - size: Where the collection grows no more.
  ///   - editsPerStep: How many edits a transaction has at most.
  ///   - kinds: What is to occur.
  ///   - make: Makes an element. Identities may occur twice if it repeats them.
  ///   - change: Changes the content of an element, and not its identity.
  public init(
    seed: UInt64, size: Int = 12, editsPerStep: Int = 4, kinds: [RandomEdit] = RandomEdit.all,
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

  /// Makes an element as this editor inserts it.
  public mutating func makeElement() -> Element { make(&random) }

  /// Makes a list of elements.
  ///
  /// - Parameter maximum: Its greatest length; ``size`` by default.
  public mutating func makeElements(upTo maximum: Int? = nil) -> [Element] {
    (0..<random.below((maximum ?? size) + 1)).map { _ in make(&random) }
  }

  /// Edits a source in one transaction.
  ///
  /// - Throws: A ``ContractViolation`` if the draft, or a transaction that joins it, does not show what
  ///   was done.
  public mutating func step(_ source: some EditableDataSource<Element>) throws(ContractViolation) {
    var violation: ContractViolation?
    source.transaction { draft in
      var model = draft.elements
      for _ in 0...random.below(editsPerStep) {
        let kind = edit(draft, &model, source)
        guard violation == nil, !Snapshot(model).hasSameContents(as: Snapshot(draft.elements))
        else { continue }
        violation = ContractViolation(
          rule: "T1", message: "after \(kind) the draft holds \(draft.elements), not \(model)",
          seed: seed, step: step)
      }
    }
    step += 1
    if let violation { throw violation }
  }

  /// Makes another version of a list: shuffled, thinned, edited and with new elements.
  public mutating func variation(of elements: [Element]) -> [Element] {
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
  /// Makes an editor of ready-made elements.
  ///
  /// - Parameters:
  ///   - seed: Tells its edits.
  ///   - size: Where the collection grows no more.
  ///   - editsPerStep: How many edits a transaction has at most.
  ///   - allowsDuplicates: Whether identities are drawn from few, so that they occur twice; otherwise
  ///     each is new.
  ///   - kinds: What is to occur.
  public init(
    seed: UInt64, size: Int = 12, editsPerStep: Int = 4, allowsDuplicates: Bool = true,
    kinds: [RandomEdit] = RandomEdit.all
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
  /// Does one edit to a draft and to its model.
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
    case .update, .replaceIdentity, .writeEqual, .cancelOut, .replace:
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
