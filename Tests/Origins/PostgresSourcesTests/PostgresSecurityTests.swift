import Foundation
import ObservableCollections
import PostgresSources
import TestSupport
import TestTags
import Testing

/// Passwords that nobody may read, names that are hostile, and connections that are encrypted.
@Suite(.tags(.system), .requiresPostgres, .timeLimit(.minutes(10))) struct PostgresSecurityTests {
  private static let rows =
    itemTable + "; INSERT INTO item SELECT n, 'row ' || n FROM generate_series(1, 3) n"
  private static let secret = "Tr0ub4dor&3"
  private static let encoded = "Tr0ub4dor%263"

  // MARK: Passwords

  @Test(arguments: [
    "host=HOST user=guarded dbname=DB password=\(secret)",
    "host=HOST user=guarded dbname=DB password = '\(secret)'",
    "host=HOST user=guarded dbname=DB password='it\\'s \(secret)'",
    "host=HOST user=guarded dbname=DB password=x\(secret) sslpassword=y\(secret)",
    "postgresql://guarded:\(encoded)@/DB?host=HOST",
    "postgresql://guarded@/DB?host=HOST&password=\(encoded)",
    "postgresql://guarded:\(encoded)@/missing_database?host=HOST",
    "postgresql://guarded:\(secret)/x@/DB?host=HOST",
    "postgresql://guarded:a/\(secret)@host/DB", "postgresql://guarded:a?\(secret)@host/DB",
    "postgresql://guarded:a#\(secret)@host/DB", "postgresql://guarded:\(secret)%zz@/DB?host=HOST",
    "host=HOST password=\(secret) port=abc", "host=HOST password='\(secret)",
    "host=HOST password=a \(secret)", "host=HOST pasword=\(secret)", "host=HOST pwd=\(secret)",
    "host=HOST \(secret)", "host=nowhere.invalid password=\(secret)",
    "host=HOST user=guarded dbname=DB password=\(secret) nonsense=1",
  ])
  func `a password appears in no error, status or explanation`(template: String) async throws {
    let database = try await TestDatabase(Self.rows)
    let string = template.replacingOccurrences(of: "HOST", with: database.server.directory)
      .replacingOccurrences(of: "DB", with: database.name)
    _ = try? database.server.psql("CREATE ROLE guarded LOGIN PASSWORD 'something else'")
    var texts: [String] = []
    let connection = try PostgresConnection(string)
    do {
      _ = try await connection.query("SELECT 1")
      Issue.record("the connection must fail")
    } catch {
      texts += ["\(error)", String(reflecting: error), "\(dumped(error))"]
    }
    let source = try makeSource(makePool(string))
    texts.append("\(source.explain())")
    let recorder = SourceRecorder(source)
    try await recorder.waitUntilFailed()
    texts += recorder.record.statuses.map { "\($0)" }
    texts.append("\(source.explain())")
    texts.append("\(dumped(recorder.failures))")
    for text in texts {
      #expect(!text.contains(Self.secret) && !text.contains(Self.encoded))
      #expect(!text.contains("Tr0ub4dor"), "\(text)")
    }
  }

  private func dumped(_ value: Any) -> String {
    var text = ""
    dump(value, to: &text)
    return text
  }

  @Test func `a password in SQL is masked in the error of the statement`() async throws {
    let database = try await TestDatabase()
    for sql in [
      "ALTER ROLE nobody_here PASSWORD '\(Self.secret)'",
      "ALTER ROLE nobody_here ENCRYPTED password E'\(Self.secret)'",
      "SELECT dblink('host=x password=\(Self.secret) dbname=y')",
      "CREATE USER MAPPING FOR x SERVER y OPTIONS (user 'u', password '\(Self.secret)')",
    ] {
      let error = await #expect(throws: PostgresError.self) {
        try await database.connection.execute(sql)
      }
      #expect(error.map { !"\($0)".contains("Tr0ub4dor") } ?? false, "\(sql)")
    }
  }

  @Test func `a password comes from a file that nobody names`() async throws {
    let database = try await TestDatabase(Self.rows)
    let role = "guarded"
    _ = try? database.server.psql("CREATE ROLE guarded LOGIN")
    try database.server.psql("ALTER ROLE guarded PASSWORD '\(Self.secret)'")
    try database.server.psql("GRANT SELECT ON item TO guarded", database: database.name)
    let directory = try TemporaryDirectory()
    let file = directory.path + "/pass"
    try Data("*:*:*:\(role):\(Self.secret)\n".utf8).write(to: URL(fileURLWithPath: file))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
    let string =
      database.server.connectionString(database: database.name, user: role) + " passfile=\(file)"
    let recorder = SourceRecorder(try makeSource(makePool(string)))
    try await recorder.wait(for: makeItems(1...3))
    #if os(Linux)
      for process in try FileManager.default.contentsOfDirectory(atPath: "/proc")
      where Int(process) != nil {
        let line = FileManager.default.contents(atPath: "/proc/\(process)/cmdline") ?? Data()
        // `psql` of this test has ended.
        #expect(!String(decoding: line, as: UTF8.self).contains(Self.secret))
      }
    #endif
    try database.server.psql("REVOKE SELECT ON item FROM guarded", database: database.name)
    let error = try await recorder.waitForFailure(.privilege)
    #expect(!"\(error)".contains(Self.secret))
  }

  // MARK: Names

  static let hostileNames = [
    "we\"ird\"; DROP TABLE victim; --", "it's; DROP TABLE victim",
    "a$function$; DROP TABLE victim; --",
    "a$f$function$ $function$", "Ünï\u{1F600}", "\\\" \\' E'\\'", "select", "a b\nc",
    String(repeating: "x", count: 63), String(repeating: "ü", count: 31),
  ]

  @Test(arguments: hostileNames)
  func `hostile names of tables and columns are only names`(name: String) async throws {
    let database = try await TestDatabase("CREATE TABLE victim ()")
    let quoted = "\"" + name.replacingOccurrences(of: "\"", with: "\"\"") + "\""
    try await database.connection.executeScript(
      """
      CREATE SCHEMA \(quoted);
      CREATE TABLE \(quoted).\(quoted) (\(quoted) integer PRIMARY KEY, title text COLLATE "C");
      INSERT INTO \(quoted).\(quoted) VALUES (1, 'a')
      """)
    try await database.connection.installChangeTriggers(on: ["\(quoted).\(quoted)"])
    try await database.connection.installChangeTriggers(on: ["\(quoted).\(quoted)"])
    let source = try PostgresDataSource(
      pool: makePool(database.connectionString, polling: .seconds(3600)),
      sql: "SELECT \(quoted), title FROM \(quoted).\(quoted) ORDER BY \(quoted)"
    ) { Item(id: try $0.value(at: 0), title: try $0.value(at: 1)) }
    let recorder = SourceRecorder(source)
    try await recorder.wait(for: [Item(id: 1, title: "a")])
    #expect(try await source.explainQuery().mode == .keyed)
    try await database.connection.execute("INSERT INTO \(quoted).\(quoted) VALUES (2, 'b')")
    try await recorder.wait(for: [Item(id: 1, title: "a"), Item(id: 2, title: "b")])
    #expect(source.readCounts.keyed == 1)
    try await database.connection.uninstallChangeTriggers(on: ["\(quoted).\(quoted)"])
    _ = try await database.connection.query("SELECT FROM victim")
  }

  @Test(arguments: hostileNames)
  func `a hostile name of a channel is only a name`(name: String) async throws {
    let database = try await TestDatabase("CREATE TABLE victim ()")
    let stream = try await database.connection.listen(to: name)
    let other = try PostgresConnection(database.connectionString)
    try await other.execute("SELECT pg_notify($1, $2)", [name, name])
    for try await notification in stream {
      #expect(notification.channel == name && notification.payload == name)
      break
    }
    _ = try await database.connection.query("SELECT FROM victim")
  }

  @Test(arguments: [
    "", String(repeating: "x", count: 64), String(repeating: "ü", count: 32), "a\0b",
  ])
  func `a name of a channel that the server would change is refused`(name: String) async throws {
    let database = try await TestDatabase()
    await #expect(throws: PostgresError.self) { try await database.connection.listen(to: name) }
  }

  @Test func `SQL with a NUL character is refused, and not cut off`() async throws {
    let database = try await TestDatabase(Self.rows)
    for sql in ["DELETE FROM item\0 WHERE id = 1", "DELETE FROM item --\0"] {
      for isScript in [false, true] {
        let error = await #expect(throws: PostgresError.self) {
          if isScript {
            try await database.connection.executeScript(sql)
          } else {
            try await database.connection.execute(sql)
          }
        }
        #expect(error?.message.contains("NUL") == true)
      }
    }
    let count = try await database.connection.query("SELECT FROM item") { _ in 1 }
    #expect(count.count == 3)
  }

  // MARK: TLS

  @Test(.enabled(if: openSSL != nil, "openssl is not installed: apt-get install openssl"))
  func `a certificate is verified as the connection string says`() async throws {
    let port = try freePort()
    let server = try PostgresServer(
      configuration: ["listen_addresses = '127.0.0.1'", "port = \(port)"], port: port)
    let certificate = try makeCertificate(server)
    try server.psql("ALTER SYSTEM SET ssl_cert_file = '\(certificate).crt'")
    try server.psql("ALTER SYSTEM SET ssl_key_file = '\(certificate).key'")
    try server.psql("ALTER SYSTEM SET ssl = on")
    try server.psql("SELECT pg_reload_conf()")
    let database = try await TestDatabase(Self.rows, on: server)
    let string =
      "host=localhost hostaddr=127.0.0.1 port=\(port) user=postgres dbname=\(database.name)"
    let verified = string + " sslmode=verify-full sslrootcert=\(certificate).crt"
    // The server reloads its configuration some time after the call.
    let recorder = SourceRecorder(try makeSource(makePool(verified)))
    try await recorder.wait(for: makeItems(1...3))
    let connection = try PostgresConnection(verified)
    let isEncrypted = try await connection.query(
      "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
    ) { try $0.value(at: 0, as: Bool.self) }
    #expect(isEncrypted == [true])
    for wrong in [
      string + " sslmode=verify-full sslrootcert=/etc/hostname.none",
      string.replacingOccurrences(of: "localhost", with: "other.example")
        + " sslmode=verify-full sslrootcert=\(certificate).crt",
    ] {
      let error = try await SourceRecorder(try makeSource(makePool(wrong)))
        .waitForFailure(.cannotConnect)
      #expect(
        error.message.contains("certificate") && error.help.contains("sslrootcert"), "\(error)")
    }
  }

  private static let openSSL = ["/usr/bin/openssl", "/opt/homebrew/bin/openssl"].first {
    FileManager.default.isExecutableFile(atPath: $0)
  }

  /// Makes a certificate for `localhost` in the directory of a server, and returns its path without an extension.
  private func makeCertificate(_ server: PostgresServer) throws -> String {
    let path = server.directory + "/data/tls"
    let process = Process()
    process.executableURL = URL(fileURLWithPath: try #require(Self.openSSL))
    process.arguments = [
      "req", "-new", "-x509", "-days", "2", "-nodes", "-newkey", "rsa:2048", "-subj",
      "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-out", "\(path).crt", "-keyout",
      "\(path).key",
    ]
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    // The directory belongs to the server's user, who must own the key, too.
    let owner = try FileManager.default.attributesOfItem(atPath: server.directory + "/data")
    try FileManager.default.setAttributes(
      [
        .posixPermissions: 0o600, .ownerAccountID: owner[.ownerAccountID] ?? 0,
        .groupOwnerAccountID: owner[.groupOwnerAccountID] ?? 0,
      ], ofItemAtPath: "\(path).key")
    // Everyone may read a copy of the certificate.
    let copy = server.directory + "/tls"
    try FileManager.default.copyItem(atPath: "\(path).crt", toPath: "\(copy).crt")
    try FileManager.default.moveItem(atPath: "\(path).key", toPath: "\(copy).key")
    return copy
  }

  private func freePort() throws -> Int {
    let descriptor = socket(AF_INET, Int32(1), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(descriptor, address, size) == 0 ? getsockname(descriptor, address, &size) : -1
      }
    }
    try #require(result == 0)
    return Int(UInt16(bigEndian: address.sin_port))
  }
}
