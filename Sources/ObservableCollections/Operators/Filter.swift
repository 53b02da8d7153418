public import Diffing
public import ReactiveSignals

extension DataSource {
  /// Derives a collection of the elements that satisfy a predicate.
  ///
  /// | in | out |
  /// |---|---|
  /// | insert | insert, or nothing |
  /// | delete | delete, or nothing |
  /// | update | update; insert if only the new element passes; delete if only the old one did; or nothing |
  /// | move | move, or nothing if it passes no other element of the output |
  ///
  /// - Parameter isIncluded: A closure that is called once for each inserted or updated element.
  /// - Complexity: O(k log n) for a change of k of n elements.
  @inlinable
  public func filter(
    _ isIncluded: @escaping @Sendable (Element) -> Bool
  ) -> LiveCollection<Element> {
    compactMap { isIncluded($0) ? $0 : nil }
  }

  /// Derives a collection of the transformed elements for which a closure returns a value.
  ///
  /// | in | out |
  /// |---|---|
  /// | insert | insert of the transformed element, or nothing |
  /// | delete | delete, or nothing |
  /// | update | update; insert if only the new element has a value; delete if only the old one had; or nothing |
  /// | move | move, or nothing if it passes no other element of the output |
  ///
  /// - Parameter transform: A closure that is called once for each inserted or updated element.
  /// - Complexity: O(k log n) for a change of k of n elements.
  @inlinable
  public func compactMap<Output: Differentiable & Sendable>(
    _ transform: @escaping @Sendable (Element) -> Output?
  ) -> LiveCollection<Output> {
    transformed { input in
      FilterOperator(
        input: input, parameter: nil, value: (), effect: { _, _ in .any },
        transform: { element, _ in transform(element) }, test: nil)
    }
  }

  /// Derives a collection of the elements that satisfy a predicate with a parameter that may change.
  ///
  ///     let query = Property("")
  ///     let found = todos.filter(by: query) { todo, query in todo.title.contains(query) }
  ///     query.value = "tea"
  ///
  /// A change of the collection is followed like in ``filter(_:)``. A change of the parameter causes at most one
  /// event, which inserts the elements that pass only now, and deletes those that pass no longer. A change of both
  /// in one transaction causes one event.
  ///
  /// - Parameters:
  ///   - parameter: The parameter: a property, or a view of one.
  ///   - effect: A closure that returns the effect that a new value of the parameter can have. If fewer elements can
  ///     pass, only elements that pass are tested again.
  ///   - isIncluded: A closure that is called once for each inserted or updated element, and after a change of the
  ///     parameter, once for each element that it can affect.
  /// - Complexity: O(k log n) for a change of k of n elements, O(n) for a change of the parameter.
  @inlinable
  public func filter<Value>(
    by parameter: some PropertySource<Value>,
    effect: @escaping @Sendable (_ old: Value, _ new: Value) -> FilterEffect = { _, _ in .any },
    _ isIncluded: @escaping @Sendable (Element, Value) -> Bool
  ) -> LiveCollection<Element> {
    LiveCollection { inputs in
      let parameter = inputs.property(parameter)
      return FilterOperator(
        input: inputs.collection(self), parameter: parameter, value: parameter.value,
        effect: effect,
        transform: { isIncluded($0, $1) ? $0 : nil }, test: isIncluded)
    }
  }

  /// Derives a collection of the elements that satisfy a predicate that may change.
  ///
  ///     let isShown = Property<@Sendable (Todo) -> Bool> { _ in true }
  ///     let shown = todos.filter(by: isShown)
  ///     isShown.value = { !$0.isDone }
  ///
  /// - Parameter predicate: The predicate: a property, or a view of one.
  /// - Complexity: O(k log n) for a change of k of n elements, O(n) for a change of the predicate.
  @inlinable
  public func filter(
    by predicate: some PropertySource<@Sendable (Element) -> Bool>
  ) -> LiveCollection<Element> {
    filter(by: predicate) { element, predicate in predicate(element) }
  }
}

/// The effect that a new value of a parameter can have on a filter.
public enum FilterEffect: Sendable {
  /// Other elements may pass.
  case any
  /// Of the elements that pass, fewer may pass. No others do.
  case narrowing
  /// The elements that pass still do. Others may pass, too.
  case widening
}

/// An operator that keeps the transformed elements for which a closure returns a value.
@usableFromInline
struct FilterOperator<
  Input: Differentiable & Sendable, Value: Sendable, Output: Differentiable & Sendable
>: CollectionOperator {
  @usableFromInline let input: CollectionInput<Input>
  @usableFromInline let parameter: PropertyInput<Value>?
  /// The value of the parameter.
  @usableFromInline var value: Value
  @usableFromInline let effect: @Sendable (Value, Value) -> FilterEffect
  @usableFromInline let transform: @Sendable (Input, Value) -> Output?
  /// Returns whether an element of the output still passes. It is `nil` for an operator without a parameter.
  // Reading the output is faster than finding its elements in the input (`PipelineBenchmarks effect`).
  @usableFromInline let test: (@Sendable (Output, Value) -> Bool)?
  /// Indicates for each element of the input whether it is in the output.
  @usableFromInline var passes = BitTree()

  @inlinable
  init(
    input: CollectionInput<Input>, parameter: PropertyInput<Value>?, value: Value,
    effect: @escaping @Sendable (Value, Value) -> FilterEffect,
    transform: @escaping @Sendable (Input, Value) -> Output?,
    test: (@Sendable (Output, Value) -> Bool)?
  ) {
    self.input = input
    self.parameter = parameter
    self.value = value
    self.effect = effect
    self.transform = transform
    self.test = test
  }

  @inlinable
  mutating func start(_ output: CollectionDraft<Output>) {
    if let parameter { value = parameter.value }
    let elements = input.snapshot.array
    var passing: [Output] = []
    passes = BitTree(count: elements.count) { offset in
      guard let element = transform(elements[offset], value) else { return false }
      passing.append(element)
      return true
    }
    output.append(contentsOf: passing)
  }

  @inlinable
  mutating func update(_ output: CollectionDraft<Output>) {
    var effect: FilterEffect?
    if let parameter, parameter.isSet {
      let old = value
      value = parameter.value
      effect = self.effect(old, value)
    }
    if let change = input.change {
      if change.changeset.isSingleUpdate {
        followUpdate(change, output)
      } else if change.changeset.changeCount == 1 {
        followSingle(change, output)
      } else if change.changeset.changeCount > max(4, passes.count / 64) {
        rebuild(change, output)
      } else {
        follow(change, output)
      }
    }
    if let effect { testAgain(effect, output) }
  }

  /// Follows the update of one element. This is the most frequent change.
  @inlinable
  mutating func followUpdate(_ change: CollectionChange<Input>, _ output: CollectionDraft<Output>) {
    let offset = change.changeset.updates[0].to
    let (passed, element) = (passes[offset], transform(change.after[offset], value))
    guard passed || element != nil else { return }
    let rank = passes.rank(of: offset)
    guard let element else {
      passes.set(false, at: offset)
      return output.removeSubrange(rank..<rank + 1)
    }
    if !passed {
      passes.set(true, at: offset)
      output.insert(element, at: rank)
    } else if rank == offset {
      // The changeset of the input is the one of the output.
      output.apply(change.changeset) { _ in element }
    } else {
      output[rank] = element
    }
  }

  /// Follows one insertion, deletion or move.
  // Faster than `follow(_:_:)`, which allocates an array for each kind of operation (`PipelineBenchmarks insert`).
  @inlinable
  mutating func followSingle(_ change: CollectionChange<Input>, _ output: CollectionDraft<Output>) {
    let changeset = change.changeset
    if let offset = changeset.insertions.first {
      let element = transform(change.after[offset], value)
      passes.insert(element != nil, at: offset)
      if let element { output.insert(element, at: passes.rank(of: offset)) }
    } else if let offset = changeset.deletions.first {
      let rank = passes.rank(of: offset)
      if passes.remove(at: offset) { output.removeSubrange(rank..<rank + 1) }
    } else if let move = changeset.moves.first {
      let rank = passes.rank(of: move.from)
      let passed = passes.remove(at: move.from)
      passes.insert(passed, at: move.to)
      if passed { output.move(from: rank, to: passes.rank(of: move.to)) }
    }
  }

  /// Follows any change.
  @inlinable
  mutating func follow(_ change: CollectionChange<Input>, _ output: CollectionDraft<Output>) {
    let (changeset, after) = (change.changeset, change.after)
    // First the offsets in the output before the change, then the change of `passes`, then the offsets after it.
    var (deletions, insertions) = ([Int](), [Int]())
    for offset in changeset.deletions where passes[offset] {
      deletions.append(passes.rank(of: offset))
    }
    let moves = changeset.moves.map { move in
      (from: passes.rank(of: move.from), to: move.to, passed: passes[move.from])
    }
    let updates = changeset.updates.map { update in
      (from: passes.rank(of: update.from), to: update.to, passed: passes[update.from])
    }

    for offset in changeset.removals.reversed() { passes.remove(at: offset) }
    /// The new elements, each with its offset in the input.
    var arrived: [(offset: Int, element: Output)] = []
    var move = 0
    for offset in changeset.insertions {
      while move < moves.count, moves[move].to < offset {
        passes.insert(moves[move].passed, at: moves[move].to)
        move += 1
      }
      let element = transform(after[offset], value)
      passes.insert(element != nil, at: offset)
      if let element { arrived.append((offset, element)) }
    }
    for move in moves[move...] { passes.insert(move.passed, at: move.to) }
    var updated: [Output] = []
    var updatedOffsets: [Int] = []
    for update in updates {
      let element = transform(after[update.to], value)
      passes.set(element != nil, at: update.to)
      switch (update.passed, element) {
      case (true, let element?):
        updated.append(element)
        updatedOffsets.append(update.to)
      case (false, let element?): arrived.append((update.to, element))
      case (true, nil): deletions.append(update.from)
      case (false, nil): break
      }
    }

    arrived.sort { $0.offset < $1.offset }
    insertions = arrived.map { passes.rank(of: $0.offset) }
    let changesetOfOutput = Changeset(
      deletions: deletions.sorted(), insertions: insertions,
      moves: moves.filter { $0.passed && passes[$0.to] }.map {
        Changeset.Move(from: $0.from, to: passes.rank(of: $0.to))
      },
      updates: updates.filter { $0.passed && passes[$0.to] }.map {
        Changeset.Update(from: $0.from, to: passes.rank(of: $0.to))
      })
    output.apply(
      changesetOfOutput.withLeastMoves, inserted: arrived.map { $0.element }, updated: updated)
  }

  /// Follows a change of so many elements that visiting all of them takes less time.
  @inlinable
  mutating func rebuild(_ change: CollectionChange<Input>, _ output: CollectionDraft<Output>) {
    let changeset = change.changeset
    let elements = change.after.array
    let origins = changeset.origins(oldCount: passes.count)
    let (start, old) = (output.savepoint, output.elements)
    /// The offset in the old output of each element of the old input, or -1.
    var ranks = Array(repeating: -1, count: passes.count)
    var rank = 0
    passes.forEachSetOffset { offset in
      ranks[offset] = rank
      rank += 1
    }
    var update = 0
    var result: [Output] = []
    var kept: [Int] = []
    var isUpdated: [Bool] = []
    passes = BitTree(count: elements.count) { offset in
      let origin = origins[offset] < 0 ? -1 : ranks[origins[offset]]
      let isTouched = update < changeset.updates.count && changeset.updates[update].to == offset
      if isTouched { update += 1 }
      if isTouched || origins[offset] < 0 {
        guard let element = transform(elements[offset], value) else { return false }
        result.append(element)
      } else {
        if origin < 0 { return false }
        result.append(old[origin])
      }
      kept.append(origin)
      isUpdated.append(isTouched)
      return true
    }
    output.write(
      result, over: start,
      Changeset(origins: kept, oldCount: old.count) { _, new in isUpdated[new] })
  }

  /// Follows a change of the parameter.
  @inlinable
  mutating func testAgain(_ effect: FilterEffect, _ output: CollectionDraft<Output>) {
    if effect == .narrowing, let test { return testOutput(test, output) }
    let elements = input.snapshot
    var (deletions, insertions) = ([Int](), [Int]())
    var arrived: [Output] = []
    var rank = 0
    var (newRank, passed, element) = (0, passes.makeIterator(), elements.makeIterator())
    passes = BitTree(count: elements.count) { _ in
      guard let passed = passed.next(), let element = element.next() else { return false }
      if passed { rank += 1 }
      if passed && effect == .widening {
        newRank += 1
        return true
      }
      let new = transform(element, value)
      if let new {
        if !passed {
          insertions.append(newRank)
          arrived.append(new)
        }
        newRank += 1
      } else if passed {
        deletions.append(rank - 1)
      }
      return new != nil
    }
    output.apply(
      Changeset(deletions: deletions, insertions: insertions), inserted: arrived, updated: [])
  }

  /// Follows a change of the parameter after which fewer elements may pass.
  @inlinable
  mutating func testOutput(_ test: (Output, Value) -> Bool, _ output: CollectionDraft<Output>) {
    var deletions: [Int] = []
    var rank = 0
    for element in output.snapshot {
      if !test(element, value) { deletions.append(rank) }
      rank += 1
    }
    if deletions.count > passes.count / 64 {
      var (next, passed) = (0, passes.makeIterator())
      rank = -1
      passes = BitTree(count: passes.count) { _ in
        guard passed.next() == true else { return false }
        rank += 1
        guard next < deletions.count, deletions[next] == rank else { return true }
        next += 1
        return false
      }
    } else {
      for rank in deletions.reversed() { passes.set(false, at: passes.select(rank)) }
    }
    output.apply(Changeset(deletions: deletions), inserted: [], updated: [])
  }
}
