import Diffing
import Foundation
import SQLiteSources

/// The elements of rows as text.
struct ElementTexts<Element: Codable & Differentiable & Sendable> {
  var texts: [String]
  var rows: [StoredRow]
  var table: RowTable<Element>

  /// Decodes many at a time, which saves most of what it costs to begin.
  func decoded() throws(StoreError) -> [Element] {
    let decoder = JSONCoding.decoder()
    var elements: [Element] = []
    elements.reserveCapacity(texts.count)
    for start in stride(from: 0, to: texts.count, by: 512) {
      let part = start..<min(start + 512, texts.count)
      let text = "[" + texts[part].joined(separator: ",") + "]"
      let decoded = try? decoder.decode([Element].self, from: Data(text.utf8))
      if let decoded, decoded.count == part.count {
        elements += decoded
      } else {
        for offset in part { elements.append(try decode(offset, decoder)) }
      }
    }
    return elements
  }

  private func decode(_ offset: Int, _ decoder: JSONDecoder) throws(StoreError) -> Element {
    do {
      return try decoder.decode(Element.self, from: Data(texts[offset].utf8))
    } catch {
      throw StoreError(
        .undecodable, "the session holds elements of another type", path: table.connection.path,
        place: "table \(SessionTables.elements), id \(rows[offset].id)",
        help: "use the type that it was saved with, or one that can read it", underlying: error)
    }
  }
}
