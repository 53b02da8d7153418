import Swappable
import TerminalViews

/// The live list in the terminal. Keys swap its source and change its order.
@MainActor
final class LiveView {
  private let stores: Stores
  private let screen: TerminalScreen
  private let container: SwappableContainer<Item>
  /// The order of the list: a parameter, which the user changes.
  private let order = Property(ItemOrder.stored.elementOrder)
  /// The list that is shown. It is derived once, and follows each swap and each new order.
  private let shown: LiveCollection<Item>
  private var model: ListModel
  private var list: TerminalListView<Item>?
  /// The swap that a guard has refused, with the name of its source.
  private var refused: (name: String, swap: SwapHandle)?
  private var refusals: Disposable?

  init(_ stores: Stores, _ screen: TerminalScreen) {
    self.stores = stores
    self.screen = screen
    container = SwappableContainer(stores.array.source)
    shown = container.sorted(by: order)
    model = ListModel(sourceName: stores.array.name)
  }

  /// Shows the list and edits the stores, until the user quits or the terminal is gone.
  func run() async throws {
    for store in stores.all { try await store.source.loaded() }
    // The view observes the list. It needs no code for swaps and for orders.
    let list = TerminalListView(shown, columns: model.columns) { [weak self] _ in self?.draw() }
    list.onEvent = { [weak self] event in self?.show(event) }
    self.list = list
    refusals = container.pendingChange.observeOnMainActor { [weak self] in self?.show($0) }

    let editing = Task { await edit() }
    for await input in screen.inputs {
      guard handle(input) else { break }
      draw()
    }
    editing.cancel()
    await editing.value
  }

  /// Handles an input.
  ///
  /// - Returns: A Boolean value that indicates whether the view continues.
  private func handle(_ input: TerminalScreen.Input) -> Bool {
    switch input {
    case .key(.character("1")): swap(to: stores.array)
    case .key(.character("2")): swap(to: stores.json)
    case .key(.character("3")): swap(to: stores.sqlite)
    case .key(.character("4")): swapToEmptyList()
    case .key(.character("a")) where refused != nil: accept()
    case .key(.character("r")) where refused != nil: container.pendingChange.value?.reject()
    case .key(.character("s")), .key(.character("S")): sort(model.order.next)
    case .key(.control("z")): screen.suspend()
    case .key(.character("q")), .key(.character("Q")), .key(.control("c")), .ended: return false
    case .key(let key): list?.press(key)
    case .resized: break
    }
    return true
  }

  private func swap(to store: some Store) {
    let revision = shown.revision
    let handle = container.swap(to: store.source)
    // In the current order, the rows of both sources can be equal although the sources differ.
    let isUnchanged = handle.outcomeIfKnown == .swapped && shown.revision == revision
    model.swapped(to: store.name, isUnchanged ? .unchanged : handle.outcomeIfKnown)
  }

  /// Swaps to an empty list. The guard refuses, and the view shows what would change.
  private func swapToEmptyList() {
    let swap = container.swap(to: ArrayDataSource<Item>(), guardedBy: .wholeList)
    if swap.outcomeIfKnown == nil {
      refused = ("empty list", swap)
    } else {
      model.swapped(to: "empty list", swap.outcomeIfKnown)
    }
  }

  private func accept() {
    guard let refused else { return }
    container.pendingChange.value?.accept()
    model.swapped(to: refused.name, refused.swap.outcomeIfKnown)
  }

  private func show(_ pending: ChangeGuard<Item>.PendingChange?) {
    if pending == nil { refused = nil }
    model.refusal = pending.map { "\($0.reason): \(Words.describe($0.change))" }
    list?.setNeedsDisplay()
  }

  private func sort(_ next: ItemOrder) {
    let revision = shown.revision
    order.value = next.elementOrder
    model.sorted(next, isChange: shown.revision != revision)
  }

  private func show(_ event: CollectionEvent<Item>) {
    model.show(event)
    list?.columns = model.columns
  }

  private func draw() {
    guard let list else { return }
    let layout = Layout(
      model: model, status: list.status, revision: list.state.revision,
      count: list.state.contents.count, position: { list.position },
      names: stores.all.map(\.name),
      hints: [
        "The demo edits all three sources. You can edit the files, too:",
        "  \(stores.json.path)", "  \(stores.sqlite.path)",
      ],
      size: screen.size)
    screen.show(layout.frame { list.lines(for: $0) })
  }

  /// Edits each store about once a second, until the task is canceled.
  private func edit() async {
    await withTaskGroup { group in
      for (number, store) in stores.all.enumerated() {
        group.addTask {
          await LiveView.edit(
            store, every: .milliseconds(1000 + 300 * number), seed: UInt64(number)
          ) { await self.report($0) }
        }
      }
    }
  }

  private func report(_ error: String?) {
    guard error != model.editError else { return }
    model.editError = error
    list?.setNeedsDisplay()
  }

  /// - Parameter report: A closure that receives the error of each edit, or `nil` if it succeeded.
  private nonisolated static func edit(
    _ store: any Store, every pause: Duration, seed: UInt64,
    clock: any Clock<Duration> = .continuous, report: (String?) async -> Void
  ) async {
    var edits = RandomEdits(seed: seed)
    while true {
      do { try await clock.sleep(for: pause) } catch { return }
      do {
        try store.apply(edits.next(for: store.items()))
        await report(nil)
      } catch {
        await report("\(store.name): \(error)")
      }
    }
  }
}
