package import ObservableCollections
import SwappablePrimitives

/// A value of a column, as the decoding of rows reads it.
///
/// Each function returns `nil` if the value has another type or does not fit.
package protocol SQLValue: Sendable, CustomStringConvertible {
  /// The values that are read element by element, for messages.
  static var listName: String { get }

  var isNull: Bool { get }
  /// The name of the type of the value, for messages.
  var typeName: String { get }
  /// The text of a number, or `nil` for any other value.
  var numberText: String? { get }
  /// The elements of an array, or the bytes of a blob.
  var elements: [Self]? { get }

  func read(_ type: Bool.Type) -> Bool?
  func read(_ type: Double.Type) -> Double?
  func read(_ type: Float.Type) -> Float?
  func read(_ type: String.Type) -> String?
  func read<Number: FixedWidthInteger>(_ type: Number.Type) -> Number?
  /// Reads any type that can be stored in a column, without a decoder.
  func readStored<Value>(_ type: Value.Type) -> Value?
}

/// One row of a result.
package protocol SQLRow: Sendable {
  associatedtype Value: SQLValue
  associatedtype Failure: SQLError
  /// A stored value, or its location in the bytes of a batch.
  associatedtype Cell: Sendable

  var columns: ResultColumns { get }
  subscript(position: Int) -> Value { get }

  /// - Parameters:
  ///   - batch: The values of some rows.
  ///   - start: The number of the row's first cell.
  init(batch: RowBatch<Cell>, start: Int)
}

/// An error of a database, a statement, its arguments or its rows.
package protocol SQLError: Error, CustomStringConvertible {
  associatedtype Code: RawRepresentable<String>

  var code: Code { get }
  /// The offset of the row that caused the error, if one row did.
  var row: Int? { get set }

  init(kind: RowErrorKind, _ message: String, help: String)
}

/// The kinds of errors of rows. They are codes of all databases.
package enum RowErrorKind: String {
  case noColumn, unexpectedNull, typeMismatch, decoding
}

extension SQLError {
  /// Creates the error of a row that cannot be mapped.
  ///
  /// - Parameters:
  ///   - error: The error of the closure that makes an element from a row.
  ///   - row: The offset of the element in the new result.
  init(mapping error: any Error, row: Int) {
    self =
      error as? Self
      ?? Self(
        kind: .decoding, "a row cannot be mapped to an element: \(error)",
        help: "change the query or the closure that maps its rows")
    self.row = row
  }

  /// The state of a data source that has failed with this error.
  package var sourceState: SourceStatus.State {
    let error = SourceError(code: code.rawValue, message: description, underlying: self)
    return code.rawValue == "missing" ? .missing(error) : .failed(error)
  }
}

extension SQLRow {
  /// Returns the position of a column, or throws an error that names the columns.
  package func requiredPosition(of name: String) throws(Failure) -> Int {
    if let position = columns.position(of: name) { return position }
    let names = columns.names.map { "\"\($0)\"" }.joined(separator: ", ")
    throw Failure(
      kind: .noColumn, "there is no column \"\(name)\"",
      help: "the columns are \(SQLText.oneLine(names, limit: 2000)); name one of these, or select "
        + "it with AS \"\(name)\"")
  }

  /// Returns the error of a value that is not of the wanted type.
  package func mismatchError(at position: Int, wanted: String) -> Failure {
    let name = columns.names[position]
    if self[position].isNull {
      return Failure(
        kind: .unexpectedNull,
        "column \"\(name)\" is NULL, but a value of type \(wanted) is required",
        help: "make the type optional, or select COALESCE(\"\(name)\", …)")
    }
    return mismatchError(
      at: position, self[position], "is not a value of type \(wanted)",
      help: "change the type, or select CAST(\"\(name)\" AS …)")
  }

  /// Returns the error of a value with another problem.
  func mismatchError(at position: Int, _ value: Value, _ problem: String, help: String) -> Failure {
    let shown = SQLText.oneLine(String(value.description.prefix(200)), limit: 40)
    return Failure(
      kind: .typeMismatch,
      "column \"\(columns.names[position])\" holds \(value.typeName) \(shown), which \(problem)",
      help: help)
  }
}

/// The columns of a result, shared by its rows.
package final class ResultColumns: Sendable, Equatable {
  package let names: [String]
  /// The server's numbers of the types, or an empty array if values have types of their own.
  package let types: [UInt32]
  private let ignoresCase: Bool
  private let positions: [String: Int]

  package init(_ names: [String], types: [UInt32] = [], ignoresCase: Bool = false) {
    self.names = names
    self.types = types
    self.ignoresCase = ignoresCase
    positions = Dictionary(zip(names, names.indices)) { first, _ in first }
  }

  /// Returns the position of a column. An exact match is preferred to a match that ignores the case of ASCII letters.
  package func position(of name: String) -> Int? {
    // Comparing a few short names is faster than hashing one. Two equal strings can be two names.
    if names.count > 8, let position = positions[name], names[position].hasSameBytes(as: name) {
      return position
    }
    return names.firstIndex { $0.hasSameBytes(as: name) }
      ?? (ignoresCase ? names.firstIndex { SQLText.isSameName($0, name) } : nil)
  }

  /// The first name that two columns share.
  package var duplicate: String? {
    var seen: Set<ByteString> = []
    return names.first { name in
      !seen.insert(ignoresCase ? SQLText.lowered(name) : ByteString(name)).inserted
    }
  }

  package static func == (left: ResultColumns, right: ResultColumns) -> Bool {
    left === right
      || left.types == right.types
        && left.names.elementsEqual(right.names) { $0.hasSameBytes(as: $1) }
  }
}
