import Dispatch
import Swappable

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The live list in a terminal, with keys that swap its source.
@MainActor
final class LiveView {
  /// What the view waits for.
  private enum Input: Sendable {
    case key(UInt8)
    /// The list, its status or the size of the screen may have changed.
    case redraw
    /// The program was stopped and goes on: the screen may show anything.
    case resumed
    /// Nobody can see it, or wants to.
    case stop
    case trouble(String?)
  }

  private let stores: Stores
  private let container: SwappableContainer<Item>
  private let terminal: Terminal
  private var screen = Screen(isColourless: Terminal.isColourless)
  private var model: ListModel
  private let inputs: AsyncStream<Input>
  private let send: AsyncStream<Input>.Continuation

  private init(_ stores: Stores, _ terminal: Terminal) {
    self.stores = stores
    self.terminal = terminal
    container = SwappableContainer(stores.array.source)
    model = ListModel(sourceName: stores.array.name)
    (inputs, send) = AsyncStream.makeStream()
  }

  /// Shows the list, edits the stores all the while, and returns when the user quits.
  static func run(_ stores: Stores, _ signals: Signals) async throws {
    for store in stores.all { try await store.source.loaded() }
    let view = LiveView(stores, try Terminal())
    try await view.run(signals)
  }

  private func run(_ signals: Signals) async throws {
    signals.deliver { [send] signal in
      switch signal {
      case SIGWINCH: send.yield(.redraw)
      case SIGCONT: send.yield(.resumed)
      default: send.yield(.stop)
      }
    }
    defer { signals.cancel() }
    try terminal.enter()
    defer { terminal.leave() }

    // Neither of the two ever hears of a swap.
    let observations = [
      container.observeOnMainActor { [self] event in
        model.show(event)
        send.yield(.redraw)
      },
      container.observeStatus { [send] _ in send.yield(.redraw) },
    ]
    defer { for observation in observations { observation.dispose() } }

    readKeys()
    let editing = edit()
    let result: Result<Void, any Error>
    do {
      result = .success(try await handleInputs())
    } catch {
      result = .failure(error)
    }
    editing.cancel()
    await editing.value
    try result.get()
  }

  private func handleInputs() async throws {
    for await input in inputs {
      switch input {
      case .key(let key):
        switch key {
        case UInt8(ascii: "1"): swap(to: stores.array)
        case UInt8(ascii: "2"): swap(to: stores.json)
        case UInt8(ascii: "3"): swap(to: stores.sqlite)
        // In raw mode the terminal sends what else would be a signal.
        case UInt8(ascii: "q"), UInt8(ascii: "Q"), 0x03: return
        default: continue
        }
      case .redraw: break
      case .resumed:
        try terminal.enter()
        screen.forget()
      case .stop: return
      case .trouble(let trouble):
        guard trouble != model.trouble else { continue }
        model.trouble = trouble
      }
      try draw()
    }
  }

  private func swap(to store: some Store) {
    let handle = container.swap(to: store.source)
    model.swapped(to: store.name, handle.outcomeIfKnown)
  }

  private func draw() throws {
    model.status = container.status
    let size = terminal.size
    let layout = Layout(
      model: model, names: stores.all.map(\.name),
      hints: [
        "Edited by the demo all the while, and by whoever else likes to:",
        "  \(stores.json.path)", "  \(stores.sqlite.path)",
      ],
      rows: size.rows, columns: size.columns)
    let output = screen.update(to: layout.lines(), size: size)
    if !output.isEmpty { try Terminal.write(output) }
  }

  /// Reads keys on a thread of its own, which ends with the program.
  private func readKeys() {
    DispatchQueue(label: "swapdemo.keys").async { [send, input = terminal.input] in
      while let bytes = Terminal.read(from: input) {
        // Keys such as arrows come as a sequence that may hold letters and digits.
        if bytes.first == 0x1B { continue }
        for byte in bytes { send.yield(.key(byte)) }
      }
      send.yield(.stop)
    }
  }

  /// Edits each store a little every second or so, until it is cancelled.
  private func edit() -> Task<Void, Never> {
    Task.detached { [stores, send] in
      await withTaskGroup { group in
        for (number, store) in stores.all.enumerated() {
          group.addTask {
            await LiveView.edit(
              store, every: .milliseconds(1000 + 300 * number), seed: UInt64(number)
            ) { send.yield(.trouble($0)) }
          }
        }
      }
    }
  }

  /// - Parameter report: Told after each edit what went wrong, if anything did.
  private nonisolated static func edit(
    _ store: any Store, every pause: Duration, seed: UInt64,
    clock: any Clock<Duration> = .continuous, report: (String?) -> Void
  ) async {
    var edits = RandomEdits(seed: seed)
    while true {
      do { try await clock.sleep(for: pause) } catch { return }
      do {
        try store.apply(edits.next(for: store.items()))
        report(nil)
      } catch {
        report("\(store.name): \(error)")
      }
    }
  }
}
