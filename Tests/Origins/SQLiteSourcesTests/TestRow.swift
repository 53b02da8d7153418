import Diffing
import ObservableCollections
import SQLiteSources
import TestSupport

/// An element with the values of a row. The first value is the identity.
struct TestRow: Hashable, Sendable, Differentiable, CustomStringConvertible {
  let values: [SQLiteValue]

  init(_ row: SQLiteRow) { values = row.values }

  var differenceIdentifier: SQLiteValue { values.first ?? .null }

  func isContentEqual(to source: TestRow) -> Bool { self == source }

  /// The values, separated by points: `2.b`.
  var description: String {
    values.map { if case .text(let text) = $0 { text } else { $0.description } }
      .joined(separator: ".")
  }
}

extension CollectionChange {
  /// The change as text, with offsets and elements: `-1 2.b, +1 9.b, 3>0 4.a, ~3>0 4.d→4.a`.
  var brief: String {
    let parts =
      deleted.map { "-\($0.offset) \($0.element)" } + inserted.map { "+\($0.offset) \($0.element)" }
      + moved.map { "\($0.from)>\($0.to) \($0.element)" }
      + updated.map { "~\($0.from)>\($0.to) \($0.old)→\($0.new)" }
    return parts.joined(separator: ", ")
  }
}

/// An element for a row of the table `item`.
struct Item: Decodable, Hashable, Identifiable, Sendable, Differentiable {
  var id: Int
  var name: String
}

extension SourceRecorder.Record {
  /// The error of the latest status.
  var failure: SQLiteError? { statuses.last?.error?.underlying as? SQLiteError }
}

extension SourceRecorder {
  /// Waits for a status with an error of a code.
  @discardableResult
  func waitForFailure(_ code: SQLiteError.Code) async throws -> Record {
    try await wait { $0.failure?.code == code }
  }
}
