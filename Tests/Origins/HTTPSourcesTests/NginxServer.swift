import Foundation
import TestSupport

/// The web server nginx in front of another one, which ends with the process of the tests.
///
/// A shell supervises nginx: when the pipe to the test process closes, also because the process was killed, it stops
/// nginx.
final class NginxServer: Sendable {
  /// A Boolean value that indicates whether tests that need nginx run. If it is required, they also run without it, and
  /// fail.
  static let isAvailable =
    program != nil || ProcessInfo.processInfo.environment["SWAPPABLE_REQUIRE_NGINX"] == "yes"

  /// The reason why tests are skipped, and what to do.
  static let advice =
    "nginx is not installed, so this test is skipped. Install the package nginx-light "
    + "(Debian, Ubuntu: apt-get install nginx-light) or nginx (Homebrew: brew install nginx)."

  private static let program: String? = {
    let path = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    let folders = path.map(String.init) + ["/usr/sbin", "/usr/local/sbin"]
    return folders.map { $0 + "/nginx" }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }()

  let port: UInt16
  private let directory: TemporaryDirectory
  private let process = Process()
  private let input: FileHandle
  /// A socket that keeps the port, and never listens.
  private let placeholder: Int32

  /// - Parameters:
  ///   - upstream: The server behind nginx.
  ///   - settings: Lines of the section `location`.
  ///   - usesTLS: A Boolean value that indicates whether nginx uses TLS, with a certificate for `localhost` that it has
  ///     signed itself.
  init(for upstream: TestWebServer, _ settings: String..., usesTLS: Bool = false) async throws {
    guard let program = Self.program else {
      throw TestWebServer.Failure(description: Self.advice)
    }
    directory = try TemporaryDirectory()
    (placeholder, port) = try TestWebServer.makeSocket()
    if usesTLS { try Self.makeCertificate(in: directory) }
    let tls =
      usesTLS
      ? """
      ssl_certificate \(directory("cert.pem"));
      ssl_certificate_key \(directory("key.pem"));
      """ : ""
    try directory.write(
      """
      daemon off;
      master_process off;
      error_log \(directory("error.log"));
      pid \(directory("pid"));
      events {}
      http {
        access_log off;
        client_body_temp_path \(directory("body"));
        proxy_temp_path \(directory("proxy"));
        fastcgi_temp_path \(directory("fastcgi"));
        uwsgi_temp_path \(directory("uwsgi"));
        scgi_temp_path \(directory("scgi"));
        server {
          listen 127.0.0.1:\(port)\(usesTLS ? " ssl" : "");
          \(tls)
          location / {
            proxy_pass http://127.0.0.1:\(upstream.port);
            proxy_http_version 1.1;
            \(settings.joined(separator: "\n"))
          }
        }
      }

      """, to: "nginx.conf")
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = [
      "-c",
      """
      trap '' INT TERM HUP
      "$1" -c "$2" -e "$3" 2>>"$3" </dev/null &
      read -r end
      kill -KILL "$!"
      """, "supervisor", program, directory("nginx.conf"), directory("error.log"),
    ]
    let pipe = Pipe()
    process.standardInput = pipe
    process.standardOutput = FileHandle.nullDevice
    input = pipe.fileHandleForWriting
    try process.run()
    try await wait(for: "nginx to listen") { [port] in TestWebServer.isListening(port) }
  }

  deinit {
    try? input.close()
    process.waitUntilExit()
    close(placeholder)
  }

  func url(_ path: String = "/list", scheme: String = "http") -> URL {
    URL(string: "\(scheme)://localhost:\(port)\(path)") ?? URL(fileURLWithPath: path)
  }

  private static func makeCertificate(in directory: TemporaryDirectory) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [
      "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
      "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", directory("key.pem"),
      "-out", directory("cert.pem"),
    ]
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw TestWebServer.Failure(description: "openssl cannot make a certificate")
    }
  }
}
