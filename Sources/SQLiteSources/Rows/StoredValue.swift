/// A value as SQLite has it, valid until the statement goes on.
enum StoredValue {
  case null
  case integer(Int64)
  case real(Double)
  case text(UnsafeRawBufferPointer)
  case blob(UnsafeRawBufferPointer)
}
