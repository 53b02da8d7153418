import Diffing
import FileSources
import Foundation
import ObservableCollections
import RemoteSources

/// The command `apply`: applies the events on standard input and prints the resulting elements.
struct Apply {
  let old: SourceSpecification?
  let output: Output

  func run() async throws(LivelistError) {
    var list = FoldedList(try await oldElements())
    let input = LineReader(descriptor: STDIN_FILENO)
    var number = 0
    while let line = await input.next() {
      number += 1
      if InputEvent.isBlank(line) { continue }
      do throws(InputEventError) {
        try list.apply(InputEvent(line))
      } catch {
        throw .input("standard input, line \(number): \(error.reason)")
      }
    }
    guard let elements = list.elements else {
      throw .input(
        "standard input has no initial event; pipe the output of livelist watch into this command, "
          + "or name the elements before the first change with livelist apply OLD")
    }
    output.array(of: elements)
    // Exiting the process frees the memory faster than releasing all objects.
    Program.end()
  }

  private func oldElements() async throws(LivelistError) -> [JSONElement]? {
    guard let old else { return nil }
    // The offsets of the events count all lines.
    var options = SourceOptions()
    options.hasStrictLines = true
    return Array(try await old.open(options).loadedSnapshot())
  }
}

/// A list to which events are applied one after another.
private struct FoldedList {
  /// The current elements, or `nil` before the initial event.
  private(set) var elements: [JSONElement]?
  /// The revision of the last event, or `nil` before the first one.
  private var revision: Int?

  /// - Parameter elements: The elements before the first event, or `nil` if it must be an initial
  ///   event.
  init(_ elements: [JSONElement]?) {
    self.elements = elements
  }

  /// Applies an event. If it throws an error, the list keeps its elements.
  ///
  /// An initial event replaces all elements.
  mutating func apply(_ event: InputEvent) throws(InputEventError) {
    switch event {
    case .status, .alive: return
    case .error(let message): throw InputEventError("the server reports: \(message)")
    case .initial(let initial):
      elements = initial.elements
      revision = initial.revision
    case .change(let change):
      guard let elements else {
        throw InputEventError(
          "the first event is a change, not an initial event; "
            + "name the elements before it with livelist apply OLD")
      }
      if let revision { try change.checkContinues(from: revision) }
      let checked = try change.checked(against: elements)
      self.elements = checked.changeset.applying(
        to: elements, inserted: checked.inserted, updated: checked.updated)
      revision = change.revision
    }
  }
}
