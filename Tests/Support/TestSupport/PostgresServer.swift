import Foundation

/// A PostgreSQL server that a test process starts in a temporary directory, and that ends with the process.
///
/// The server listens on a Unix socket only. A shell supervises it: when the pipe to the test process closes, also
/// because the process was killed, the shell stops the server and removes the directory. The server refuses to run as
/// root, so it runs as the user `postgres` or `nobody` if the tests run as root.
package final class PostgresServer: @unchecked Sendable {
  // Sendable: `lock` guards the pipes. All other properties are constants.

  package struct Failed: Error, CustomStringConvertible {
    package let description: String
  }

  /// The way in which a server is stopped.
  package enum StopMode: String, Sendable {
    /// Sessions are ended, and the data is written.
    case fast
    /// Everything ends at once, and the next start recovers, as after a crash.
    case immediate
  }

  /// A Boolean value that indicates whether tests that need a server run. If a server is required, they also run
  /// without one, and fail.
  package static let isAvailable = isRequired || programs != nil

  /// A Boolean value that indicates whether tests fail if there is no server.
  package static let isRequired =
    ProcessInfo.processInfo.environment["SWAPPABLE_REQUIRE_POSTGRES"] == "yes"

  /// The reason why tests are skipped, and what to do.
  package static let advice =
    "PostgreSQL is not installed, so this test is skipped. Install the package postgresql "
    + "(Debian, Ubuntu: apt-get install postgresql; Homebrew: brew install postgresql)."

  /// The directory of `initdb` and `postgres`, or `nil` if they are not installed.
  package static let programs: String? = {
    let manager = FileManager.default
    let debian = "/usr/lib/postgresql"
    let versions = ((try? manager.contentsOfDirectory(atPath: debian)) ?? [])
      .sorted { $0.compare($1, options: .numeric) == .orderedDescending }
      .map { "\(debian)/\($0)/bin" }
    let path = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    let brew = ["/opt/homebrew/opt/postgresql/bin", "/usr/local/opt/postgresql/bin"]
    return (versions + path.map(String.init) + brew).first { directory in
      ["initdb", "pg_ctl", "postgres", "psql"].allSatisfy {
        manager.isExecutableFile(atPath: "\(directory)/\($0)")
      }
    }
  }()

  private static let started = Result { try PostgresServer() }

  /// The server of this process, which is started at the first call.
  package static func shared() throws -> PostgresServer { try started.get() }

  /// The directory of the data and the socket.
  package let directory: String
  private let port: Int
  private let programs: String
  private let lock = NSLock()
  private let process = Process()
  private let input: FileHandle
  private let output: FileHandle

  /// Starts a server of its own, for tests that stop it.
  ///
  /// - Parameters:
  ///   - configuration: Lines that are added to `postgresql.conf`.
  ///   - primary: The server to copy. The new server is its standby.
  ///   - port: The port, which is a part of the name of the socket.
  package init(
    configuration: [String] = [], standbyOf primary: PostgresServer? = nil, port: Int = 5432
  ) throws {
    guard let programs = PostgresServer.programs else {
      throw Failed(description: PostgresServer.advice)
    }
    self.programs = programs
    self.port = port
    // The path of a socket may have about 100 bytes.
    directory = "/tmp/swappable-pg-\(String(UInt32.random(in: .min ... .max), radix: 36))"
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = [
      "-c", PostgresServer.supervisor, "supervisor", programs, directory,
      configuration.joined(separator: "\n"), primary?.directory ?? "",
    ]
    let (toShell, fromShell) = (Pipe(), Pipe())
    process.standardInput = toShell
    process.standardOutput = fromShell
    input = toShell.fileHandleForWriting
    output = fromShell.fileHandleForReading
    try process.run()
    try expectOK()
  }

  deinit {
    try? input.close()
    process.waitUntilExit()
  }

  /// The shell's program. It makes the data, starts the server, and then obeys commands until its input ends.
  private static let supervisor = #"""
    bin=$1 dir=$2 configuration=$3 primary=$4
    # A signal to the group of the tests must not end this shell before the server.
    trap '' INT TERM HUP
    as=
    if [ "$(id -u)" -eq 0 ]; then
      for user in postgres nobody; do
        id "$user" >/dev/null 2>&1 && break
      done
      as="setpriv --reuid=$user --regid=$(id -g "$user") --clear-groups --"
      command -v setpriv >/dev/null || as="su $user -s /bin/sh -c"
    fi
    run() {
      case $as in
      su*) command=; for word; do command="$command '$word'"; done; $as "$command" ;;
      *) $as "$@" ;;
      esac </dev/null >>"$dir/log" 2>&1
    }
    mkdir -m 755 "$dir" && [ -z "$as" ] || chown "$user" "$dir" || exit 1
    cd "$dir" || exit 1
    : >"$dir/log"; [ -z "$as" ] || chown "$user" "$dir/log"
    start() {
      run "$bin/pg_ctl" -D "$dir/data" -w -t 120 -l "$dir/server.log" start && echo ok ||
        echo "the server did not start: $(tail -n 5 "$dir/log" "$dir/server.log" 2>&1 | tr '\n' ' ')"
    }
    if [ -n "$primary" ]; then
      run "$bin/pg_basebackup" -h "$primary" -U postgres -D "$dir/data" -R -X stream -c fast
    else
      run "$bin/initdb" -D "$dir/data" -U postgres -A trust -E UTF8 --locale=C.UTF-8 --no-sync ||
        run "$bin/initdb" -D "$dir/data" -U postgres -A trust -E UTF8 --locale=C --no-sync
    fi
    cat >>"$dir/data/postgresql.conf" <<END
    listen_addresses = ''
    unix_socket_directories = '$dir'
    max_connections = 200
    fsync = off
    synchronous_commit = off
    full_page_writes = off
    autovacuum_naptime = 10min
    $configuration
    END
    [ -n "$primary" ] || sed -i.old -e '1i local all +guarded scram-sha-256' "$dir/data/pg_hba.conf"
    start
    while read -r command mode; do
      case $command in
      start) start ;;
      stop) run "$bin/pg_ctl" -D "$dir/data" -w -t 60 -m "$mode" stop; echo ok ;;
      save) rm -rf "$dir/$mode" && cp -a "$dir/data" "$dir/$mode" && echo ok ;;
      restore) rm -rf "$dir/data" && cp -a "$dir/$mode" "$dir/data" && echo ok ;;
      promote) run "$bin/pg_ctl" -D "$dir/data" -w -t 60 promote; echo ok ;;
      esac
    done
    run "$bin/pg_ctl" -D "$dir/data" -w -t 60 -m immediate stop
    cd / && rm -rf "$dir"
    """#

  // MARK: Using the server

  /// Returns a connection string.
  ///
  /// - Parameters:
  ///   - database: The name of a database.
  ///   - user: The name of a role.
  package func connectionString(database: String, user: String = "postgres") -> String {
    "host=\(directory) dbname=\(database) user=\(user)" + (port == 5432 ? "" : " port=\(port)")
  }

  /// Creates an empty database with a new name.
  ///
  /// - Returns: The name.
  package func makeDatabase() throws -> String {
    let name = "test_\(String(UInt64.random(in: .min ... .max), radix: 36))"
    try psql("CREATE DATABASE \(name)")
    return name
  }

  /// Runs SQL with the program `psql`, and returns its output without alignment and headers.
  @discardableResult
  package func psql(_ sql: String, database: String = "postgres") throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "\(programs)/psql")
    process.arguments = [
      "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", directory, "-p",
      "\(port)", "-U", "postgres", "-d", database, "-c", sql,
    ]
    let (output, errors) = (Pipe(), Pipe())
    process.standardOutput = output
    process.standardError = errors
    process.standardInput = FileHandle.nullDevice
    try process.run()
    let text = String(
      decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    let message = String(
      decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw Failed(description: message) }
    return text.trimmingCharacters(in: .newlines)
  }

  /// Copies a database with the programs `pg_dump` and `psql`.
  package func dump(
    _ database: String, to other: PostgresServer, database copy: String
  ) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = [
      "-c",
      """
      "$1/pg_dump" -h "$2" -U postgres "$3" >"$4/dump.sql" &&
      "$1/psql" -X -q -v ON_ERROR_STOP=1 -h "$4" -U postgres -d "$5" -f "$4/dump.sql" >/dev/null
      """, "sh", programs, directory, database, other.directory, copy,
    ]
    process.standardInput = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw Failed(description: "the dump failed") }
  }

  /// Stops the server.
  package func stop(_ mode: StopMode = .fast) throws { try send("stop \(mode.rawValue)") }

  /// Copies the files of a server that is stopped to another place in its directory.
  package func copyData(to name: String) throws { try send("save \(name)") }

  /// Replaces the files of a server that is stopped by a copy.
  package func copyData(from name: String) throws { try send("restore \(name)") }

  /// Starts the server again.
  package func start() throws { try send("start") }

  /// Makes a standby server a primary server.
  package func promote() throws { try send("promote") }

  /// The path of the server's socket.
  package var socketPath: String { "\(directory)/.s.PGSQL.\(port)" }

  private func send(_ command: String) throws {
    lock.lock()
    defer { lock.unlock() }
    try input.write(contentsOf: Data("\(command)\n".utf8))
    try expectOK()
  }

  private func expectOK() throws {
    let answer = try output.readLine()
    if answer != "ok" { throw Failed(description: answer ?? "the supervisor of the server ended") }
  }
}
