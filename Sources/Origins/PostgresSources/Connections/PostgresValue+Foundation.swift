#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif
import SQLSources

extension UUID: PostgresValueConvertible {
  /// The value as a `uuid`.
  public var postgresValue: PostgresValue { .other(uuidString.lowercased(), .uuid) }

  /// Reads a `uuid`.
  public init?(postgresValue: PostgresValue) {
    guard case .other(let text, .uuid) = postgresValue else { return nil }
    self.init(uuidString: text)
  }
}

extension Date: PostgresValueConvertible {
  /// The moment as a `timestamp with time zone`, rounded to microseconds.
  ///
  /// A moment outside the range of the server's type is an error of the server.
  public var postgresValue: PostgresValue {
    .other(SQLTime(secondsSince1970: timeIntervalSince1970).text, .timestampWithTimeZone)
  }

  /// Reads a `timestamp with time zone`, or a `timestamp` or a `date` as UTC.
  ///
  /// The values `infinity` and `-infinity` are not moments.
  public init?(postgresValue: PostgresValue) {
    guard case .other(var text, let type) = postgresValue,
      [.timestampWithTimeZone, .timestamp, .date].contains(type),
      let time = text.withUTF8({ SQLTime(UnsafeRawBufferPointer($0)) }), time.isFinite
    else { return nil }
    self.init(timeIntervalSince1970: time.secondsSince1970)
  }
}
