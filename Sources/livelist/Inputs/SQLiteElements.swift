import FileSources
import Foundation
import SQLiteSources
import SwappablePrimitives

/// The conversion of rows to JSON objects, with members in the order of the columns.
enum SQLiteElements {
  /// - Parameter key: The column that identifies rows, or `nil` for the first column.
  static func element(of row: SQLiteRow, key: String?) throws -> JSONElement {
    // SQLite ignores the case of column names. JSON does not ignore the case of member names.
    if let key, !row.columnNames.contains(where: { $0.hasSameBytes(as: key) }) {
      throw MissingKeyColumnError(key: key, columns: row.columnNames)
    }
    if row.columnNames.indices.contains(where: { row.invalidText(at: $0) != nil }) {
      return try elementWithBytes(of: row, key: key)
    }
    let members = zip(row.columnNames, row.values).map { (name: $0, value: scalar($1)) }
    return try JSONElement(members: members, key: key ?? row.columnNames.first)
  }

  /// Converts a row with TEXT that is not UTF-8. Different bytes become different JSON.
  private static func elementWithBytes(of row: SQLiteRow, key: String?) throws -> JSONElement {
    var text = [UInt8(ascii: "{")]
    for (position, name) in row.columnNames.enumerated() {
      if position > 0 { text.append(UInt8(ascii: ",")) }
      JSONText.append(name, to: &text)
      text.append(UInt8(ascii: ":"))
      if let bytes = row.invalidText(at: position) {
        JSONText.append(bytes: bytes, to: &text)
      } else {
        text += try JSONElement(scalar(row[position])).utf8
      }
    }
    return try JSONElement(parsing: text + [UInt8(ascii: "}")], key: key ?? row.columnNames.first)
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

  /// Returns the shortest digits that represent the number exactly.
  ///
  /// They always contain a point or an exponent. Therefore, a real is never read as an integer.
  private static func text(of number: Double) -> String {
    // SQLite writes infinities in this form, too, and reads it as infinity.
    if number.isInfinite { return number < 0 ? "-9e999" : "9e999" }
    return number.description
  }
}

/// An error for a query without a column that has the name of the key.
private struct MissingKeyColumnError: Error, CustomStringConvertible {
  let key: String
  let columns: [String]

  var description: String {
    "the key column \"\(key)\" is missing; the columns are "
      + columns.joined(separator: ", ")
  }
}
