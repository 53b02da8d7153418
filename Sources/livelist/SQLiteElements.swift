import FileSources
import Foundation
import SQLiteSources

/// Writes rows of a query as JSON objects, members in the order of the columns.
enum SQLiteElements {
  /// - Parameter key: the column by which rows are known; nil for the first.
  static func element(of row: SQLiteRow, key: String?) throws -> JSONElement {
    // Columns are told apart without regard to case, members are not.
    if let key, !row.columnNames.contains(where: { $0.utf8.elementsEqual(key.utf8) }) {
      throw MissingKeyColumn(key: key, columns: row.columnNames)
    }
    let members = zip(row.columnNames, row.values).map { (name: $0, value: scalar($1)) }
    return try JSONElement(members: members, key: key ?? row.columnNames.first)
  }

  private static func scalar(_ value: SQLiteValue) -> JSONElement.Scalar {
    switch value {
    case .null: .null
    case .integer(let number): .integer(number)
    case .real(let number): .number(text(of: number))
    case .text(let text): .string(text)
    case .blob(let bytes): .string(Data(bytes).base64EncodedString())
    }
  }

  /// The shortest digits that read back the same, with a point or an exponent, so that a real is
  /// never taken for an integer.
  static func text(of number: Double) -> String {
    // As SQLite itself writes infinities where only digits can stand: it reads them as such.
    if number.isInfinite { return number < 0 ? "-9e999" : "9e999" }
    return number.description
  }
}

/// A query's rows have no column of the key's name.
private struct MissingKeyColumn: Error, CustomStringConvertible {
  let key: String
  let columns: [String]

  var description: String {
    "there is no column \"\(key)\", which is the key; the columns are "
      + columns.joined(separator: ", ")
  }
}
