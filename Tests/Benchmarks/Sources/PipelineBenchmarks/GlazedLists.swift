import Foundation
import Measuring

/// Runs the same edits with Glazed Lists, a library for Java, if it is installed.
struct GlazedLists {
  static let defaultJar = "/usr/share/java/glazedlists.jar"

  private let options: Options
  private let jar: String

  /// Finds Java and the jar, or returns `nil`.
  init?(_ options: Options) {
    self.options = options
    jar = options.jar ?? ProcessInfo.processInfo.environment["GLAZED_LISTS"] ?? Self.defaultJar
    guard FileManager.default.fileExists(atPath: jar), Self.run(["-version"]) != nil else {
      return nil
    }
  }

  /// Returns a table of its times beside those of this package, or `nil` if it fails.
  func table(_ count: Int, _ results: [Result]) -> String? {
    let program = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(components: "..", "..", "GlazedLists", "PipelineEdits.java").standardized.path
    guard
      let output = Self.run([
        "-Xmx8g", "-cp", jar, program, "\(count)", "\(options.rounds)", "\(options.edits)",
      ])
    else { return nil }
    var times: [String: [String: Double]] = [:]
    for line in output.split(separator: "\n") {
      let fields = line.split(separator: "\t").map(String.init)
      if fields.count == 3, let time = Double(fields[2]) {
        times[fields[0], default: [:]][fields[1]] = time
      }
    }
    let columns = ["build"] + options.kinds.map(\.rawValue)
    var lines = [columns + ["µs: Swappable, Glazed Lists"]]
    for result in results {
      guard let theirs = times[result.pipeline.name] else { continue }
      let cells = columns.map { column in
        let ours = Edit.Kind(rawValue: column).flatMap { result.edits[$0]?.time } ?? result.build
        return "\(number(ours)), \(theirs[column].map(number) ?? "–")"
      }
      lines.append(cells + [result.pipeline.name])
      for change in result.parameterChanges {
        guard let time = theirs[change.name] else { continue }
        let empty = options.kinds.map { _ in "" }
        lines.append(["\(number(change.time)), \(number(time))"] + empty + [change.name])
      }
    }
    return lines.count > 1 ? Measuring.table(lines) : nil
  }

  /// Runs Java, and returns what it prints, or `nil` if it fails.
  private static func run(_ arguments: [String]) -> String? {
    let (process, pipe) = (Process(), Pipe())
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["java"] + arguments
    process.standardOutput = pipe
    if arguments == ["-version"] { process.standardError = pipe }
    guard (try? process.run()) != nil else { return nil }
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return process.terminationStatus == 0 ? String(decoding: output, as: UTF8.self) : nil
  }
}
