import Foundation
import Measuring

/// The tables of all results.
struct Report {
  let options: Options
  /// The results for each size, in ascending order of the sizes.
  let results: [(count: Int, pipelines: [Result])]
  /// How much longer this machine takes than that of the targets, by the `Reference`, or `nil` if it was not measured.
  let machineScale: Double?

  /// The table of one size.
  static func sizeTable(_ results: [Result], _ options: Options) -> String {
    let plain = results[0]
    var titles = ["build"] + options.kinds.map(\.rawValue)
    if options.hasBatches { titles += ["2,000 edits"] }
    var lines = [titles + ["bytes a row", "without output", "µs"]]
    for result in results {
      var cells = [number(result.build)]
      for kind in options.kinds {
        guard let edit = result.edits[kind] else { continue }
        cells.append(number(edit.time) + (result.isPlain ? "" : " (\(difference(edit.extra)))"))
      }
      if let batch = result.batch, let plain = plain.batch {
        cells.append(number(batch) + (result.isPlain ? "" : " (×\(number(batch / plain)))"))
      }
      cells += result.isPlain ? ["", ""] : [number(result.bytes.all), number(result.bytes.own)]
      lines.append(cells + [result.pipeline.name])
    }
    return table(lines)
  }

  /// The factors by which times grow from the smallest to the largest size, or `nil` for one size.
  var growthTable: String? {
    guard let first = results.first, let last = results.last, results.count > 1 else { return nil }
    var lines = [options.kinds.map(\.rawValue) + ["growth"]]
    for (small, large) in zip(first.pipelines, last.pipelines) {
      let cells = options.kinds.map { kind in
        "×" + number((large.edits[kind]?.time ?? 0) / (small.edits[kind]?.time ?? 1))
      }
      lines.append(cells + [small.pipeline.name])
    }
    return table(lines)
  }

  /// The times of changes of parameters, or `nil` if no pipeline has any.
  var parameterTable: String? {
    var lines = [results.map { text(count: $0.count) } + ["µs"]]
    for index in results[0].pipelines.indices {
      for (position, change) in results[0].pipelines[index].parameterChanges.enumerated() {
        lines.append(
          results.map { number($0.pipelines[index].parameterChanges[position].time) }
            + [change.name])
      }
    }
    return lines.count > 1 ? table(lines) : nil
  }

  /// The comparison of edits of the largest size with the targets, which are scaled to this machine.
  var editTargetTable: String? {
    guard let last = results.last, let scale else { return nil }
    var lines = [
      ["target", "to change"] + options.kinds.map(\.rawValue)
        + ["µs more than plain, \(text(count: last.count)), scale \(number(scale))"]
    ]
    for result in last.pipelines {
      guard let target = result.pipeline.target else { continue }
      let cells = options.kinds.map { kind in
        Self.verdict(
          result.edits[kind]?.extra ?? 0, (kind == .change ? target.change : target.edit) * scale)
      }
      lines.append(
        [number(target.edit * scale), number(target.change * scale)] + cells
          + [result.pipeline.name])
    }
    return table(lines)
  }

  /// The comparison of total times of edits of the largest size with the targets of a list as it was when they were
  /// written, on this machine.
  var totalTargetTable: String? {
    guard let last = results.last, let scale = machineScale, !options.kinds.isEmpty else {
      return nil
    }
    var lines = [
      ["target", "to change"] + options.kinds.map(\.rawValue)
        + ["µs in all, \(text(count: last.count)), machine \(number(scale))"]
    ]
    for result in last.pipelines {
      guard let target = result.pipeline.target else { continue }
      let edit = (Target.plain + target.edit) * scale
      let change = (Target.plain + target.change) * scale
      let cells = options.kinds.map { kind in
        Self.verdict(result.edits[kind]?.time ?? 0, kind == .change ? change : edit)
      }
      lines.append([number(edit), number(change)] + cells + [result.pipeline.name])
    }
    return table(lines)
  }

  /// The comparison of the rest with the targets, which are scaled to this machine.
  var targetTable: String? {
    guard let last = results.last, let scale else { return nil }
    let size = text(count: last.count)
    var lines = [["measured", "target", "scale \(number(scale))"]]
    func add(_ measured: Double, _ target: Double, _ what: String) {
      lines.append([Self.verdict(measured, target), number(target), what])
    }
    for (index, result) in last.pipelines.enumerated() {
      guard let target = result.pipeline.target else { continue }
      let name = result.pipeline.name
      if let build = target.build {
        add(result.build / 1e3, build * scale / 1e3, "\(name), \(size), build, ms")
      }
      if let bytes = target.bytes {
        add(result.bytes.own, bytes, "\(name), \(size), bytes a row, without output")
      }
      guard results.count > 1 else { continue }
      let small = results[0].pipelines[index]
      let growth = options.kinds.map { kind in
        (result.edits[kind]?.time ?? 0) / (small.edits[kind]?.time ?? 1)
      }
      add(growth.max() ?? 0, Target.growth, "\(name), largest growth")
      if target.isForFew, let edit = small.edits[.update] {
        let count = text(count: results[0].count)
        add(edit.time, Target.few * scale, "\(name), update, \(count), µs")
      }
    }
    for change in last.pipelines.flatMap(\.parameterChanges) {
      guard let target = Target.parameterChanges[change.name] else { continue }
      add(change.time / 1e3, target * scale / 1e3, "\(change.name), \(size), ms")
    }
    return table(lines)
  }

  /// The speed of this machine, relative to the machine of the targets.
  private var scale: Double? {
    options.scale ?? results.last?.pipelines[0].edits[.update].map { $0.time / Target.plain }
  }

  private static func verdict(_ measured: Double, _ target: Double) -> String {
    "\(number(measured)) \(measured <= target ? "met" : "not met")"
  }
}

extension Result {
  var isPlain: Bool { pipeline.name == Pipeline.all[0].name }
}

/// Formats a number with three digits, or more if it is large.
func number(_ value: Double) -> String {
  switch abs(value) {
  case ..<9.995: String(format: "%.2f", value)
  case ..<99.95: String(format: "%.1f", value)
  default: Int(value.rounded()).formatted(.number.locale(Locale(identifier: "en_US")))
  }
}

private func difference(_ value: Double) -> String {
  (value < 0 ? "" : "+") + number(value)
}

/// Formats a number of rows.
func text(count: Int) -> String {
  switch count {
  case 1_000_000...: "\(count / 1_000_000)M"
  case 1_000...: "\(count / 1_000)k"
  default: "\(count)"
  }
}
