import Foundation
import SQLSources
import Testing

@testable import PostgresSources

@Suite struct PostgresTextTests {
  @Test func `no form of a connection string shows its password`() throws {
    for (text, redacted) in [
      ("host=h password=secret dbname=d", "host=h password=… dbname=d"),
      ("password = 'se cr\\'et' user=u", "password = … user=u"),
      ("host=h sslpassword=secret", "host=h sslpassword=…"),
      ("PASSWORD=secret", "PASSWORD=…"),
      ("password=sec\\ ret dbname=d", "password=… dbname=d"),
      ("postgresql://user:secret@host/db", "postgresql://user:…@host/db"),
      (
        "postgres://user:s:e@c@host:5/db?sslmode=require",
        "postgres://user:…@host:5/db?sslmode=require"
      ),
      ("postgres://user:se/cret@host/db", "postgres://user:…@host/db"),
      ("postgres://h/db?password=secret&user=u", "postgres://h/db?password=…&user=u"),
      ("postgres://h/db?user=u&sslpassword=secret", "postgres://h/db?user=u&sslpassword=…"),
      ("postgres://user@host/db", "postgres://user@host/db"),
      ("host=h passwordx=1", "host=h passwordx=…"), ("host=h passfile=p", "host=h passfile=p"),
      ("host=h password=a secret", "host=h password=… …"), ("secret", "…"), (" = x", " = x"),
    ] {
      #expect(try ConnectionString(text).redacted == redacted)
    }
  }

  @Test func `a message does not show the password, as written and as meant`() throws {
    let string = try ConnectionString("postgres://u:p%40ss-word@h/d")
    #expect(string.redact("bad p%40ss-word and p@ss-word") == "bad … and …")
    let other = try ConnectionString("host=h password=tiger-7")
    #expect(other.redact("cannot use \"tiger-7\"") == "cannot use \"…\"")
  }

  @Test func `one statement is told from several, and from none`() throws {
    for sql in [
      "SELECT 1", "SELECT ';' -- ;\n", "/* ; /* ; */ */ SELECT 1;", "SELECT $a$;$a$",
      "SELECT E'\\';'",
      "SELECT \";\" ;;", "SELECT $$;$$ AS \"a\"\"b;\"",
    ] {
      #expect(throws: Never.self) { try PostgresText.singleStatement(sql) }
    }
    #expect(try PostgresText.singleStatement(" ; SELECT 1 ; ") == "SELECT 1")
    for (sql, code) in [
      ("SELECT 1; SELECT 2", PostgresError.Code.severalStatements), ("", .emptySQL),
      (" -- SELECT 1", .emptySQL), (";;", .emptySQL),
      ("SELECT E'\\\\'; DROP TABLE x", .severalStatements),
    ] {
      #expect { try PostgresText.singleStatement(sql) } throws: {
        ($0 as? PostgresError)?.code == code
      }
    }
  }

  @Test func `arguments are found outside of strings, names and comments`() {
    #expect(PostgresText.argumentCount("SELECT $1, '$2', \"$3\", $t$ $4 $t$ -- $5\n /* $6 */") == 1)
    #expect(PostgresText.argumentCount("SELECT $12") == 12)
    #expect(
      PostgresText.withoutArguments("SELECT $1, '$1', $2::text", types: ["integer", "text"])
        == "SELECT CAST(NULL AS integer), '$1', CAST(NULL AS text)::text")
  }

  @Test func `the first word of a query is found`() {
    #expect(PostgresText.firstWord(" /* a */ (( select 1") == "SELECT")
    #expect(PostgresText.firstWord("-- x\nWITH a AS (SELECT 1)") == "WITH")
    #expect(PostgresText.firstWord("\"select\"") == "")
  }

  @Test func `names and literals are quoted`() {
    #expect(SQLText.quoted("a\"b; DROP") == "\"a\"\"b; DROP\"")
    #expect(PostgresText.literal("it's") == "'it''s'")
    #expect(PostgresText.literal("a\\b'") == "E'a\\\\b'''")
  }

  @Test func `the position of an error is described in characters`() {
    #expect(PostgresText.position(of: 7, in: "SELECT x") == "column 8 («x»)")
    #expect(PostgresText.position(of: 11, in: "SELECT '🙂'\nFROM") == "line 2, column 1 («FROM»)")
  }

  @Test func `arrays are read as the server writes them`() {
    func parse(_ text: String, _ element: PostgresType) -> [PostgresValue]? {
      PostgresValue.array(in: text, of: element)
    }
    #expect(parse("{1,NULL,-3}", .integer) == [.integer(1), .null, .integer(-3)])
    #expect(
      parse(#"{"a b","NULL",c,"q\"\\",""}"#, .text)
        == [.text("a b"), .text("NULL"), .text("c"), .text("q\"\\"), .text("")])
    #expect(
      parse("[0:1]={{1},{2}}", .integer) == [.array([.integer(1)]), .array([.integer(2)])])
    #expect(parse("{}", .text) == [])
    for wrong in ["", "{", "{1", "1,2", "{1}}", "{\"a}"] { #expect(parse(wrong, .text) == nil) }
  }

  @Test func `an empty array is a bytea only if its elements are bytes`() {
    #expect([String]().postgresValue == .array([]) && [Int]().postgresValue == .array([]))
    #expect([UInt8]().postgresValue == .bytes([]))
    #expect([String](postgresValue: .bytes([])) == nil)
    #expect([UInt8](postgresValue: .bytes([])) == [])
  }

  @Test func `integers are read exactly, or not at all`() {
    func parse(_ text: String) -> Int64? {
      var text = text
      return text.withUTF8 { PostgresValue.integer(in: UnsafeRawBufferPointer($0)) }
    }
    #expect(parse("9223372036854775807") == .max)
    #expect(parse("-9223372036854775808") == .min)
    for wrong in ["", "-", "9223372036854775808", "1.0", "+1", " 1"] {
      #expect(parse(wrong) == nil)
    }
  }

  @Test func `times are written as they are read`() {
    func parse(_ text: String) -> SQLTime? {
      var text = text
      return text.withUTF8 { SQLTime(UnsafeRawBufferPointer($0)) }
    }
    for (text, seconds) in [
      ("1970-01-01", 0.0), ("1970-01-01 00:00:00+01", -3600),
      ("2000-02-29 12:00:00.5", 951_825_600.5),
      ("1969-12-31 23:59:59.999999-00", -0.000001), ("0001-01-01 BC", -62_167_219_200),
    ] {
      #expect(parse(text)?.secondsSince1970 == seconds, "\(text)")
    }
    for days in stride(from: Int64(-1_000_000), through: 3_000_000, by: 997) {
      let (year, month, day) = SQLTime.date(days: days)
      #expect(SQLTime.days(year: year, month: month, day: day) == days)
      let time = SQLTime(days: days, microseconds: 86_399_999_999)
      #expect(parse(time.text) == time)
    }
    #expect(SQLTime(secondsSince1970: .infinity).text == "infinity")
    #expect(parse("infinity")?.isFinite == false && parse("x") == nil)
  }

  @Test func `the tree of a query is read, and a broken one is not`() {
    let tree = NodeTree("({QUERY :a <> :b 5 :c {X :name a\\ b} :d ({Y :v 4 [ 1 0 ]} <>)})")
    let query = tree?.elements.first
    #expect(query?.name == "QUERY" && query?["a"] == nil && query?.number("b") == 5)
    #expect(query?["c"]?.word("name") == "a b")
    #expect(query?["d"]?.elements.count == 2)
    for wrong in ["", "({", "{A :b", "{A b}", ")"] { #expect(NodeTree(wrong) == nil, "\(wrong)") }
  }

  @Test func `a missing library is named with the package to install`() {
    #expect {
      _ = try LibPQ.load(["libpq-of-the-tests.so.99"])
    } throws: { error in
      let error = error as? PostgresError
      return error?.code == .noClientLibrary && error?.description.contains("libpq") == true
        && error?.help.contains("install") == true
    }
    // This library exists, but is another one.
    #if canImport(Glibc)
      #expect { _ = try LibPQ.load(["libm.so.6"]) } throws: {
        ($0 as? PostgresError)?.message.contains("PQconnectStartParams") == true
      }
    #endif
  }
}
