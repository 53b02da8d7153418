import FileSources
import Foundation
import ObservableCollections
import RemoteSources
import SwappablePrimitives
import SwappableSources

/// The command `serve`: serves containers to other processes, and performs commands from standard input.
struct Serve: Command {
  private let path: ByteString
  /// The number of bytes for the latest changes of each list.
  let windowBytes: Int
  private let lists: [(name: String, source: SourceSpecification, options: SourceOptions)]

  init(_ words: Arguments) throws(LivelistError) {
    try words.checkCount(1..., "needs at least one NAME=SOURCE")
    var lists: [(name: String, source: SourceSpecification)] = []
    for word in words.operands {
      // A source without a name may contain the sign, too, and may begin with a password.
      guard let parts = word.split(at: "="), !parts.before.isEmpty, parts.before != "password",
        !parts.before.description.contains(#/[:?@]|\/.*[&;]/#)
      else {
        let shown = SourceSpecification.redacted(word.description)
        throw .usage("\"\(shown)\" is not NAME=SOURCE; use \(CommandName.serve.usage)")
      }
      let shown = SourceSpecification.redacted(parts.before.description)
      guard let name = parts.before.string else {
        throw .usage("the name \"\(shown)\" is not UTF-8; use another name")
      }
      guard !name.contains(where: { $0.isWhitespace || $0 == "#" }) else {
        throw .usage("the name \"\(shown)\" contains white space or a \"#\"; use another name")
      }
      guard !lists.contains(where: { name.hasSameBytes(as: $0.name) }) else {
        throw .usage("the name \"\(shown)\" occurs twice; give each list a name of its own")
      }
      lists.append((name, try SourceSpecification(parts.after)))
    }
    path = words.options.socketPath
    windowBytes = words.options.windowBytes / lists.count
    let keys = try Serve.keys(words.options.listKeys, of: lists.map { ByteString($0.name) })
    var options = words.options.sources
    options.followsPipes = true
    self.lists = lists.map { name, source in
      options.key = keys[ByteString(name)]
      return (name, source, options)
    }
  }

  /// Returns the key of each list, from texts of the form `NAME:FIELD`, or `FIELD` for all other lists.
  private static func keys(
    _ texts: [String], of names: [ByteString]
  ) throws(LivelistError) -> [ByteString: String] {
    var (own, common): ([ByteString: String], String?) = ([:], nil)
    for text in texts {
      // The name of a member may contain a colon, too.
      guard let parts = ByteString(text).split(at: ":"), names.contains(parts.before) else {
        guard common == nil else {
          throw .usage(
            "--key occurs twice without the name of a list; use --key NAME:FIELD, where NAME is "
              + names.map(\.description).joined(separator: " or "))
        }
        common = text
        continue
      }
      guard own.updateValue(parts.after.description, forKey: parts.before) == nil else {
        throw .usage("--key occurs twice for the list \(parts.before); use it once")
      }
    }
    var keys: [ByteString: String] = [:]
    for name in names { keys[name] = own[name] ?? common }
    return keys
  }

  func run(_ output: Output) async throws(LivelistError) {
    UnixSocket.raiseFileLimit()
    // A signal also ends the program while a source is loading.
    let running = Locked<FeedServer?>(nil)
    Interruption.onSignal {
      running.withLock { $0 }?.stop()
      Program.end()
    }
    var lists: [ByteString: ServedList] = [:]
    for (name, source, sourceOptions) in self.lists {
      do throws(LivelistError) {
        lists[ByteString(name)] = try await ServedList(source, sourceOptions)
      } catch {
        throw .input("cannot serve \(name)=\(source.text): \(error.message)")
      }
    }
    let server: FeedServer
    do throws(SourceError) {
      server = try FeedServer(
        path: path,
        feeds: lists.mapValues {
          Feed($0.container, key: $0.key, retaining: .init(bytes: windowBytes))
        })
    } catch {
      throw .input(error.message)
    }
    running.withLock { $0 = server }
    // Standard output stays empty for later use.
    Program.report("serving \(names) at \(server.path)")
    if await performCommands(lists) {
      server.stop()
      Program.end()
    }
    // Wait forever: a signal ends the program.
    await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
    withExtendedLifetime(server) {}
  }

  /// Performs the commands on standard input.
  ///
  /// - Returns: A Boolean value that indicates whether the program should end.
  private func performCommands(_ lists: [ByteString: ServedList]) async -> Bool {
    let input = LineReader()
    while let line = await input.next() {
      do throws(LivelistError) {
        if try perform(line, on: lists) { return true }
      } catch {
        Program.report(error.message)
      }
    }
    return false
  }

  /// Performs the command of a line, which may be blank.
  ///
  /// - Returns: A Boolean value that indicates whether the program should end.
  private func perform(
    _ line: [UInt8], on lists: [ByteString: ServedList]
  ) throws(LivelistError) -> Bool {
    let text = ByteString(bytes: line[JSONText.bodyStart(of: line[...])...]).withoutTrailingSpace
    let (command, rest) = text.firstWord
    let (name, source) = rest.firstWord
    func swaps() throws(LivelistError) -> SwapRequests {
      guard let list = lists[name] else {
        let shown = SourceSpecification.redacted(name.description)
        throw .input("there is no list \"\(shown)\"; the lists are \(names)")
      }
      return list.swaps
    }
    switch command {
    case "": break
    case "quit" where rest.isEmpty: return true
    case "cancel" where !name.isEmpty && source.isEmpty: try swaps().cancel()
    case "swap":
      guard !source.isEmpty else {
        throw .usage("swap needs a name and a source; use swap NAME SOURCE")
      }
      let specification = try SourceSpecification(source)
      try swaps().swap(to: specification)
    default:
      let advice = NearestWord.advice(for: command, among: ["swap", "cancel", "quit"])
      throw .usage(
        "unknown command \"\(SourceSpecification.redacted(command: text))\"\(advice); "
          + "use swap NAME SOURCE, cancel NAME or quit")
    }
    return false
  }

  /// The names of the lists, for messages.
  private var names: String { lists.map(\.name).joined(separator: ", ") }
}

private struct ServedList {
  let container: SwappableContainer<JSONElement>
  /// The field that identifies elements, also in the sources that the list is swapped to.
  let key: String?
  let swaps: SwapRequests

  init(_ source: SourceSpecification, _ options: SourceOptions) async throws(LivelistError) {
    container = SwappableContainer(try await source.openWhenThere(options))
    let contents = try await container.loadedSnapshot(waiting: options.wait)
    // Without the option, the first column identifies the rows of a query.
    key = options.key ?? contents.first?.keyName
    var options = options
    options.key = key
    swaps = SwapRequests(container, options)
  }
}
