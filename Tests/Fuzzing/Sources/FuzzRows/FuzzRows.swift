import SQLiteSources

/// Writes rows from the bytes into a table, and checks how they are read and decoded.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  var input = Input(UnsafeBufferPointer(start: start, count: count))
  do {
    try check(&input)
  } catch {
    preconditionFailure("\(error)")
  }
  return 0
}

/// One table for all cases, because creating a database for each would take most of the time.
private let database = makeDatabase()

private func makeDatabase() -> SQLiteConnection {
  do {
    let database = try SQLiteConnection.makeInMemory()
    try database.executeScript(
      "CREATE TABLE value (row INTEGER PRIMARY KEY, a, b TEXT, c REAL, d INTEGER, \"e f\" BLOB)")
    return database
  } catch {
    preconditionFailure("\(error)")
  }
}

/// The bytes of a case, followed by zeros.
struct Input {
  private let bytes: UnsafeBufferPointer<UInt8>
  private var position = 0

  init(_ bytes: UnsafeBufferPointer<UInt8>) {
    self.bytes = bytes
  }

  var isAtEnd: Bool { position >= bytes.count }

  mutating func next() -> UInt8 {
    guard !isAtEnd else { return 0 }
    defer { position += 1 }
    return bytes[position]
  }

  mutating func next(_ count: Int) -> [UInt8] { (0..<count).map { _ in next() } }

  mutating func word() -> UInt64 { next(8).reduce(0) { $0 << 8 | UInt64($1) } }

  /// A value of any type. Small and large values are equally frequent.
  mutating func value() -> SQLiteValue {
    let kind = next()
    switch kind % 8 {
    case 0: return .null
    case 1: return .integer(Int64(Int8(bitPattern: next())))
    case 2: return .integer(Int64(bitPattern: word()))
    case 3: return .real(Double(bitPattern: word()))
    case 4: return .real(Double(Int8(bitPattern: next())))
    case 5: return .text(String(decoding: next(Int(next())), as: UTF8.self))
    case 6: return .blob(next(Int(next())))
    default: return .text(String(repeating: "é", count: Int(next()) * 16))
    }
  }
}

/// The type of decoded rows, with a property for each kind of decoding.
private struct Record: Decodable {
  let row: Int
  let a: Any?
  let b: String?
  let c: Double?
  let d: UInt64?
  let bytes: [UInt8]?

  private enum CodingKeys: String, CodingKey {
    case row, a, b, c, d
    case bytes = "e f"
  }

  init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    row = try values.decode(Int.self, forKey: .row)
    // One of them fits, whatever its type.
    if try values.decodeNil(forKey: .a) {
      a = nil
    } else if let number = try? values.decode(Int64.self, forKey: .a) {
      a = number
    } else if let number = try? values.decode(Double.self, forKey: .a) {
      a = number
    } else if let text = try? values.decode(String.self, forKey: .a) {
      a = text
    } else {
      a = try values.decode([UInt8].self, forKey: .a)
    }
    b = try? values.decodeIfPresent(String.self, forKey: .b)
    c = try? values.decodeIfPresent(Double.self, forKey: .c)
    d = try? values.decodeIfPresent(UInt64.self, forKey: .d)
    bytes = try? values.decodeIfPresent([UInt8].self, forKey: .bytes)
  }
}

private func check(_ input: inout Input) throws {
  try database.execute("DELETE FROM value")
  var written: [[SQLiteValue]] = []
  while !input.isAtEnd, written.count < 64 {
    let values = (0..<5).map { _ in input.value() }
    try database.execute(
      "INSERT INTO value (a, b, c, d, \"e f\") VALUES (?, ?, ?, ?, ?)",
      SQLiteArguments(values))
    written.append(values)
  }
  let rows = try database.query("SELECT * FROM value ORDER BY row")
  precondition(rows.count == written.count, "\(rows.count) rows of \(written.count)")
  for (row, values) in zip(rows, written) {
    // The first column has no type, which would change the stored value.
    precondition(isStored(values[0], as: row[1]), "\(values[0]) became \(row[1])")
    precondition(row["A"] == row[1] && row["e f"] == row[5] && row["none"] == nil)
    let again = try database.query("SELECT * FROM value WHERE row = ?", [row[0]])
    precondition(again == [row], "\(again) is not \(row)")
    checkReading(row)
    try checkDecoding(row)
  }
}

/// Returns whether the value that was read equals the value that was written. SQLite has no NaN.
private func isStored(_ written: SQLiteValue, as read: SQLiteValue) -> Bool {
  if case .real(let number) = written, number.isNaN { return read.isNull }
  return written == read
}

/// Reads each column as each type. Its own type gives the stored value, and other types are rejected.
private func checkReading(_ row: SQLiteRow) {
  for position in 0..<row.count {
    let integer = try? row.value(at: position, as: Int64.self)
    let number = try? row.value(at: position, as: Double.self)
    let text = try? row.value(at: position, as: String.self)
    let bytes = try? row.value(at: position, as: [UInt8].self)
    _ = try? row.value(at: position, as: Int8.self)
    _ = try? row.value(at: position, as: Float?.self)
    _ = try? row.value(at: position, as: Bool.self)
    switch row[position] {
    case .null:
      precondition(integer == nil && number == nil && text == nil && bytes == nil)
      precondition((try? row.value(at: position, as: Int?.self)) == .some(.none))
    case .integer(let value): precondition(integer == value && text == nil && bytes == nil)
    case .real(let value): precondition(number == value && integer == nil && text == nil)
    case .text(let value): precondition(text == value && integer == nil && bytes == nil)
    case .blob(let value): precondition(bytes == value && text == nil && number == nil)
    }
    do {
      _ = try row.value("none", as: Int.self)
      preconditionFailure("a column that is not there was read")
    } catch {
      precondition(!error.description.isEmpty)
    }
  }
}

private func checkDecoding(_ row: SQLiteRow) throws {
  let record = try row.decode(Record.self)
  precondition(.integer(Int64(record.row)) == row[0])
  switch row[1] {
  case .null: precondition(record.a == nil)
  case .integer(let value): precondition(record.a as? Int64 == value)
  // A number without a fraction is still no integer.
  case .real(let value): precondition(record.a as? Double == value)
  case .text(let value): precondition(record.a as? String == value)
  case .blob(let value): precondition(record.a as? [UInt8] == value)
  }
  if case .text(let value) = row[2] { precondition(record.b == value) }
  if case .integer(let value) = row[4] { precondition(record.d == UInt64(exactly: value)) }
  if case .blob(let value) = row[5] { precondition(record.bytes == value) }
  // Types that do not fit are rejected with a clear error.
  do {
    _ = try row.decode([Int].self)
    preconditionFailure("a row was decoded as an array")
  } catch let error as SQLiteError {
    precondition(!error.description.isEmpty)
  }
}
