import Foundation
import Swappable
import TerminalViews

/// The live list in the terminal, with the top ten countries beside it.
@MainActor
final class LiveView {
  private let shop: Shop
  private let path: String
  private let screen: TerminalScreen
  private var list: TerminalListView<ListSection<String, Sale>.Row>?
  /// The process that writes, if the user has started it with a key.
  private var writer: Process?

  private let columns = [
    TerminalColumn<Sale>("Order", alignment: .trailing) { "\($0.left.id)" },
    TerminalColumn<Sale>("Customer") { $0.right.name },
    TerminalColumn<Sale>("Price", alignment: .trailing) { "\($0.left.price)" },
  ]

  init(_ shop: Shop, path: String, _ screen: TerminalScreen) {
    (self.shop, self.path, self.screen) = (shop, path, screen)
  }

  /// Shows the list until the user quits or the terminal is gone.
  func run() async throws {
    try await shop.top.loaded()
    list = TerminalListView(
      shop.rows, columns: columns, header: { [shop] in shop.header(of: $0, $1) }
    ) { [weak self] _ in self?.draw() }
    defer { stopWriter() }
    for await input in screen.inputs {
      switch input {
      case .key(.character("q")), .key(.character("Q")), .key(.control("c")), .ended: return
      case .key(.character("w")), .key(.character("W")): try toggleWriter()
      case .key(.control("z")): screen.suspend()
      case .key(let key): list?.press(key)
      case .resized: break
      }
      draw()
    }
  }

  private func toggleWriter() throws {
    if writer == nil {
      writer = try OrdersDemo.startWriter(["--write", path])
    } else {
      stopWriter()
    }
  }

  /// Stops the writer, and waits for its end. Afterwards, the directory of the database can be removed.
  private func stopWriter() {
    writer?.terminate()
    writer?.waitUntilExit()
    writer = nil
  }

  // MARK: Drawing

  private func draw() {
    guard let list else { return }
    let size = screen.size
    let bold = TerminalStyle(isBold: true)
    let side = size.columns >= 60 ? self.side : []
    let belowCount = min(max(1, size.rows - 8), 3)
    let part = TerminalSize(
      rows: max(0, size.rows - belowCount), columns: size.columns - (side.isEmpty ? 0 : 28))
    var lines = list.lines(for: part)
    let keys = "↑ ↓ move   w \(writer == nil ? "start" : "stop") a writer   q quit"
    let faint = TerminalStyle(isFaint: true)
    let below = [
      TerminalLine("Write from this terminal with w, or from another one:", faint),
      TerminalLine("  swift run OrdersDemo --write \(path)", faint),
      TerminalLine("\(keys)   \(list.position)", bold),
    ].suffix(belowCount)
    for (offset, text) in side.enumerated() where offset < lines.count {
      lines[offset] = lines[offset].fitted(to: part.columns)
      lines[offset].append("  " + text, offset == 0 ? bold : .plain)
    }
    screen.show(TerminalFrame(size: size, lines: lines + below))
  }

  /// The ten countries with the highest totals, as lines of 26 columns.
  private var side: [String] {
    ["Top ten"]
      + shop.top.snapshot.enumerated().map { rank, country in
        TerminalText.padded("\(rank + 1).", to: 4, alignment: .leading)
          + TerminalText.padded(country.id, to: 14, alignment: .leading)
          + TerminalText.padded("\(country.total)", to: 7, alignment: .trailing)
      }
  }
}
