import FileSources
import Foundation
import PostgresSources
import SQLiteSources
import SwappablePrimitives

/// The conversion of rows to JSON objects, with members in the order of the columns.
///
/// The key is the column that identifies rows, or `nil` for the first column.
enum RowElements {
  static func element(of row: SQLiteRow, key: String?) throws -> JSONElement {
    try element(row.columnNames, key, invalidText: row.invalidText) { append(row[$0], to: &$1) }
  }

  static func element(of row: PostgresRow, key: String?) throws -> JSONElement {
    try element(row.columnNames, key, invalidText: row.invalidText) { append(row[$0], to: &$1) }
  }

  private static func element(
    _ columns: [String], _ key: String?, invalidText: (Int) -> [UInt8]?,
    append: (Int, inout [UInt8]) -> Void
  ) throws -> JSONElement {
    // SQLite ignores the case of column names. JSON does not ignore the case of member names.
    if let key, !columns.contains(where: key.hasSameBytes), KeyFields(key) == nil {
      throw MissingKeyColumn(key: key, columns: columns)
    }
    var text = [UInt8(ascii: "{")]
    for (position, name) in columns.enumerated() {
      if position > 0 { text.append(UInt8(ascii: ",")) }
      JSONText.append(name, to: &text)
      text.append(UInt8(ascii: ":"))
      // Text that is not UTF-8: different bytes become different JSON.
      if let bytes = invalidText(position) {
        JSONText.append(bytes: bytes, to: &text)
      } else {
        append(position, &text)
      }
    }
    return try JSONElement(parsing: text + [UInt8(ascii: "}")], key: key ?? columns.first)
  }

  private static func append(_ value: SQLiteValue, to text: inout [UInt8]) {
    switch value {
    case .null: text += "null".utf8
    case .integer(let number): text += "\(number)".utf8
    // SQLite writes infinities in this form, too, and reads it as infinity.
    case .real(let number) where number.isInfinite: text += (number < 0 ? "-9e999" : "9e999").utf8
    // The digits always contain a point or an exponent. Therefore, a real is never read as an integer.
    case .real(let number): text += "\(number)".utf8
    case .text(let string): JSONText.append(string, to: &text)
    case .blob(let bytes): JSONText.append(Data(bytes).base64EncodedString(), to: &text)
    }
  }

  private static func append(_ value: PostgresValue, to text: inout [UInt8]) {
    switch value {
    case .null: text += "null".utf8
    case .boolean(let value): text += (value ? "true" : "false").utf8
    case .integer(let number): text += "\(number)".utf8
    case .double(let number) where number.isFinite: text += "\(number)".utf8
    // JSON has no infinities and no NaN.
    case .double(let number):
      JSONText.append(number.isNaN ? "NaN" : number < 0 ? "-Infinity" : "Infinity", to: &text)
    case .bytes(let bytes): JSONText.append(Data(bytes).base64EncodedString(), to: &text)
    case .array(let values):
      text.append(UInt8(ascii: "["))
      for (position, value) in values.enumerated() {
        if position > 0 { text.append(UInt8(ascii: ",")) }
        append(value, to: &text)
      }
      text.append(UInt8(ascii: "]"))
    case .other(let json, .json), .other(let json, .jsonb): text += json.utf8
    case .other(let number, .numeric)
    where number.first?.isLetter == false && !number.hasPrefix("-I"):
      text += number.utf8
    case .text(let string), .other(let string, _): JSONText.append(string, to: &text)
    }
  }

  /// An error for a query without a column that has the name of the key.
  private struct MissingKeyColumn: Error, CustomStringConvertible {
    let key: String
    let columns: [String]

    var description: String {
      "the key column \"\(key)\" is missing; the columns are " + columns.joined(separator: ", ")
    }
  }
}
