import DemoSupport
import Foundation
import Swappable
import TerminalViews

/// A demo of orders in sections by country, while another process writes.
@main
struct OrdersDemo {
  private static let usage = """
    usage: OrdersDemo [--course]
           OrdersDemo --write DATABASE [COUNT]

    Shows the orders of a SQLite database in sections by country, and the ten countries with the
    highest totals. The second form writes to the database of a demo that is running, from another
    terminal. With --course, or if standard output is not a terminal, the demo prints the countries
    before and after another process has written, and exits.
    """

  @MainActor
  static func main() async {
    let arguments = Array(CommandLine.arguments.dropFirst())
    do {
      switch arguments.first {
      case "--help": try StandardOutput.write(usage)
      case "--write" where arguments.count == 2 || arguments.count == 3 && Int(arguments[2]) != nil:
        let count = arguments.count == 3 ? Int(arguments[2]) : nil
        try await Writer(path: arguments[1])
          .write(count: count, every: count == nil ? .milliseconds(400) : .zero)
      case nil where TerminalCapabilities.current != .none: try await show()
      case nil,
        "--course" where arguments.count <= 1:
        try await play()
      default:
        printError("the arguments \(arguments.joined(separator: " ")) do not fit\n\(usage)")
        exit(2)
      }
    } catch let error as TerminalError where error.isReaderGone {
    } catch let error as POSIXError where error.code == .EPIPE || error.code == .EIO {
    } catch {
      printError("\(error)")
      exit(1)
    }
  }

  /// Starts this program again, as a process that writes.
  static func startWriter(_ arguments: [String]) throws -> Process {
    let writer = Process()
    writer.executableURL = Bundle.main.executableURL
    writer.arguments = arguments
    writer.standardInput = FileHandle.nullDevice
    try writer.run()
    return writer
  }

  /// Shows the live list.
  @MainActor
  private static func show() async throws {
    // Create the screen first. It receives the signals, so each signal removes the directory.
    let screen = try TerminalScreen()
    defer { screen.close() }
    let directory = try TemporaryDirectory("OrdersDemo")
    defer { directory.remove() }
    let path = directory.path("shop.db")
    try Writer(path: path).create()
    try await LiveView(try Shop(path: path), path: path, screen).run()
  }

  /// Prints the countries before and after another process has written.
  @MainActor
  private static func play() async throws {
    // Receive the signals first: each signal removes the directory.
    let signals = try TerminalSignals([.interrupt, .terminate, .hangup])
    let directory = try TemporaryDirectory("OrdersDemo")
    defer { directory.remove() }
    let watching = Task {
      for await signal in signals.signals {
        directory.remove()
        exit(128 + signal.number)
      }
    }
    defer { watching.cancel() }
    let path = directory.path("shop.db")
    try Writer(path: path).create()
    let shop = try Shop(path: path)
    try await shop.top.loaded()
    try printCountries(of: shop, "at first")
    let writer = try startWriter(["--write", path, "30"])
    await Task.detached { writer.waitUntilExit() }.value
    await shop.refresh()
    try printCountries(of: shop, "after 30 writes of another process")
  }

  private static func printCountries(of shop: Shop, _ title: String) throws {
    try StandardOutput.write("\(title): \(shop.rows.count - shop.countries.count) orders")
    for country in shop.countries.snapshot { try StandardOutput.write("  \(country.text)") }
    let top = shop.top.snapshot.map { "\($0.id) \($0.total)" }
    try StandardOutput.write("top ten: \(top.joined(separator: ", "))")
  }

  private static func printError(_ message: String) {
    StandardError.write("OrdersDemo: \(message)")
  }
}
