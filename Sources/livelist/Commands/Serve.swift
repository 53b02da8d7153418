import FileSources
import Foundation
import ObservableCollections
import RemoteSources
import SwappablePrimitives
import SwappableSources

/// The command `serve`: serves containers to other processes, and performs commands from standard input.
struct Serve {
  let options: ServeOptions

  func run() async throws(LivelistError) {
    UnixSocket.raiseFileLimit()
    var containers: [String: SwappableContainer<JSONElement>] = [:]
    for (name, source) in options.lists {
      containers[name] = SwappableContainer(try source.open(key: options.key))
    }
    for (name, source) in options.lists {
      do throws(LivelistError) {
        _ = try await containers[name]?.loadedSnapshot()
      } catch {
        throw .input("cannot serve \(name)=\(source.text): \(error.message)")
      }
    }
    let server: FeedServer
    do throws(SourceError) {
      let key = options.key
      server = try FeedServer(
        path: options.path, feeds: containers.mapValues { Feed($0, key: key) })
    } catch {
      throw .input(error.message)
    }
    Interruption.onSignal {
      server.stop()
      Program.end()
    }
    // Standard output stays empty for later use.
    let names = options.lists.map(\.name).joined(separator: ", ")
    Program.report("serving \(names) at \(server.path)")
    if await performCommands(containers) {
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
  private func performCommands(
    _ containers: [String: SwappableContainer<JSONElement>]
  ) async -> Bool {
    let input = LineReader(descriptor: STDIN_FILENO)
    while let line = await input.next() {
      do throws(LivelistError) {
        switch try ServeCommand(line) {
        case .quit: return true
        case .swap(let name, let source):
          guard let container = containers[name] else {
            let names = options.lists.map(\.name).joined(separator: ", ")
            throw .input("there is no list \"\(name)\"; the lists are \(names)")
          }
          _ = try await container.swap(to: source, key: options.key)
        case nil: break
        }
      } catch {
        Program.report(error.message)
      }
    }
    return false
  }
}

/// A command in the input of `serve`.
enum ServeCommand: Equatable {
  case swap(name: String, SourceSpecification)
  case quit

  /// Parses a line. Returns `nil` if the line is blank.
  init?(_ line: [UInt8]) throws(LivelistError) {
    let text = String(decoding: line, as: UTF8.self)
    let words = text.split(maxSplits: 2, whereSeparator: \.isWhitespace)
    switch words.first {
    case nil: return nil
    case "quit" where words.count == 1: self = .quit
    case "swap":
      guard words.count == 3 else {
        throw .usage("swap needs a name and a source; use swap NAME SOURCE")
      }
      let source = words[2].drop(while: \.isWhitespace)
      let end = source.lastIndex { !$0.isWhitespace } ?? source.startIndex
      self = .swap(name: String(words[1]), try SourceSpecification(String(source[...end])))
    default:
      throw .usage("unknown command \"\(text)\"; use swap NAME SOURCE or quit")
    }
  }
}
