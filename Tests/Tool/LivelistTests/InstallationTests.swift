import Foundation
import TestSupport
import TestTags
import Testing

/// The script that builds and installs the program, up to the build.
@Suite(.tags(.system)) struct InstallationTests {
  @Test func `a directory in the place of the program is refused, whatever CDPATH is`() throws {
    let place = try Workplace()
    try FileManager.default.createDirectory(
      atPath: place("out/bin/livelist"), withIntermediateDirectories: true)
    let script = try Guide.package(of: #filePath).appendingPathComponent("Playgrounds/install").path
    let shell = try Livelist(
      ["-c", "cd '\(place.path)' && '\(script)' out"], program: "/bin/bash",
      environment: ["CDPATH": ".:/"])
    let errors = try shell.restOfErrors()
    #expect(try shell.restOfOutput() == "")
    // The path is absolute, and has no line break.
    #expect(errors.hasPrefix("/") && errors.split(separator: "\n").count == 1, "\(errors)")
    #expect(
      errors.hasSuffix("/out/bin/livelist is a directory; remove it, or use another prefix.\n"))
    #expect(try shell.waitForExit() == 1)
  }

  @Test(arguments: ["Playgrounds", "Tests", ".ci"])
  func `no script looks for folders in CDPATH`(folder: String) throws {
    let path = try Guide.package(of: #filePath).appendingPathComponent(folder).path
    for name in try FileManager.default.contentsOfDirectory(atPath: path) {
      guard let text = try? String(contentsOfFile: "\(path)/\(name)", encoding: .utf8),
        text.hasPrefix("#!"), text.contains("\ncd ") || text.contains("$(cd ")
      else { continue }
      #expect(text.contains("\nunset CDPATH\n") || text.contains("\nCDPATH= cd -- "), "\(name)")
    }
  }
}
