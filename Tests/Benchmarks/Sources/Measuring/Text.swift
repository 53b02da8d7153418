/// Formats a duration for people.
package func text(nanoseconds: Double) -> String {
  let (value, unit) =
    switch nanoseconds {
    case ..<1e3: (nanoseconds, "ns")
    case ..<1e6: (nanoseconds / 1e3, "µs")
    case ..<1e9: (nanoseconds / 1e6, "ms")
    default: (nanoseconds / 1e9, "s")
    }
  let rounded = value < 10 ? (value * 100).rounded() / 100 : value.rounded()
  return "\(rounded < 10 ? "\(rounded)" : "\(Int(rounded))") \(unit)"
}

/// Formats a number of bytes for people.
package func text(bytes: Int) -> String {
  switch bytes {
  case ..<10_000: "\(bytes) B"
  case ..<1_000_000: "\(bytes / 1_000) KB"
  default: "\(Double(bytes / 100_000) / 10) MB"
  }
}

/// Formats a Markdown table with aligned columns. All but the last are aligned to the right.
///
/// - Parameter rows: The cells. The first row has the titles.
package func table(_ rows: [[String]]) -> String {
  guard let titles = rows.first else { return "" }
  let widths = titles.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
  func line(_ cells: [String]) -> String {
    let padded = zip(cells, widths).enumerated().map { column, cell in
      let padding = String(repeating: " ", count: cell.1 - cell.0.count)
      return column == titles.count - 1 ? cell.0 + padding : padding + cell.0
    }
    return "| " + padded.joined(separator: " | ") + " |"
  }
  let rule = widths.enumerated().map { column, width in
    column == titles.count - 1
      ? String(repeating: "-", count: width) : String(repeating: "-", count: width - 1) + ":"
  }
  return ([line(titles), line(rule)] + rows.dropFirst().map(line)).joined(separator: "\n")
}
