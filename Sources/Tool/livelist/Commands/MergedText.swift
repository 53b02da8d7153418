import FileSources
import SwappablePrimitives

/// The text of a merged value, written with the bytes and the layout of its versions.
///
/// The value is given twice: as it is if each conflict is won by `mine`, and by `theirs`. Where the two differ, the text
/// has the marks of a conflict, as git writes them, around whole lines.
struct MergedText {
  /// The versions of a value.
  struct Versions {
    var base: WrittenValue?
    var mine: WrittenValue?
    var theirs: WrittenValue?

    /// The versions whose bytes and layout are used. A side that has not changed a text follows the other side.
    var preferred: [WrittenValue] {
      (base?.bytes == mine?.bytes ? [theirs, mine] : [mine, theirs]).compactMap(\.self)
    }

    /// Returns the version whose bytes are those of a value, unless the other side has other bytes to keep.
    func bytes(of value: JSONElement) -> ArraySlice<UInt8>? {
      let isMineOld = base?.bytes == mine?.bytes
      let sides = isMineOld ? [(theirs, mine), (mine, theirs)] : [(mine, theirs), (theirs, mine)]
      for (side, other) in sides where side?.element.utf8 == value.utf8 {
        if other == nil || other?.bytes == base?.bytes || other?.element.utf8 == value.utf8 {
          return side?.bytes
        }
      }
      return nil
    }
  }

  private enum Part {
    case text([UInt8])
    /// A text that differs, or that one side has not.
    case conflict(mine: [UInt8]?, theirs: [UInt8]?)
    /// A text that has marks of conflicts in it, and the same without.
    case marked([UInt8], mine: [UInt8], theirs: [UInt8])

    func side(_ isMine: Bool) -> [UInt8]? {
      switch self {
      case .text(let text): text
      case .conflict(let mine, let theirs): isMine ? mine : theirs
      case .marked(_, let mine, let theirs): isMine ? mine : theirs
      }
    }

    /// The text if it is no conflict.
    var written: [UInt8]? {
      switch self {
      case .text(let text), .marked(let text, _, _): text
      case .conflict: nil
      }
    }

    var isSettled: Bool { if case .text = self { true } else { false } }

    /// A Boolean value that indicates whether both sides have the part.
    var isFirm: Bool { side(true) != nil && side(false) != nil }
  }

  /// The members that identify the items of arrays, by the paths of the arrays.
  let keys: [String: String]

  /// Returns the text.
  ///
  /// - Returns: The text, and whether it has marks of conflicts.
  func text(
    mine: JSONElement, theirs: JSONElement, of versions: Versions
  ) -> (bytes: [UInt8], hasConflicts: Bool) {
    let part = part(mine, theirs, versions, at: [])
    if let text = part.written { return (text, !part.isSettled) }
    // The whole text is one line, or two values of different kinds.
    let isCRLF = versions.mine?.text.contains(0x0D) == true
    let layout = Layout(
      open: [], separator: isCRLF ? [0x0D, 0x0A] : [0x0A], close: [], isLines: true)
    return (layout.marked([(ByteString(""), [], part)]), true)
  }

  private func part(
    _ mine: JSONElement?, _ theirs: JSONElement?, _ versions: Versions, at path: [String]
  ) -> Part {
    let isSettled = mine?.utf8 == theirs?.utf8
    if isSettled, let mine, let bytes = versions.bytes(of: mine) { return .text(Array(bytes)) }
    let preferred = versions.preferred
    let key = keys[path.joined(separator: ".")]
    guard let mineParts = mine?.identifiedParts(key: key),
      let theirParts = theirs?.identifiedParts(key: key), mine?.kind == theirs?.kind,
      let frame = preferred.first(where: {
        $0.element.kind == mine?.kind && $0.parts(key: key)?.isEmpty == false
      })
    else {
      func text(_ value: JSONElement?) -> [UInt8]? {
        guard let value else { return nil }
        if !isSettled { return part(value, value, versions, at: path).side(true) }
        return preferred.first { $0.element.utf8 == value.utf8 }.map { Array($0.bytes) }
          ?? value.utf8
      }
      return isSettled ? .text(text(mine) ?? []) : .conflict(mine: text(mine), theirs: text(theirs))
    }
    func values(_ parts: [(id: ByteString, value: JSONElement)]) -> [ByteString: JSONElement] {
      Dictionary(parts.map { ($0.id, $0.value) }) { first, _ in first }
    }
    func written(_ value: WrittenValue?) -> [ByteString: WrittenValue.Part] {
      Dictionary((value?.parts(key: key) ?? []).map { ($0.id, $0) }) { first, _ in first }
    }
    let (mineValues, theirValues) = (values(mineParts), values(theirParts))
    let parts = (
      base: written(versions.base), mine: written(versions.mine), theirs: written(versions.theirs)
    )
    let isObject = mine?.kind == .object
    let pieces = Self.order(mineParts.map(\.id), theirParts.map(\.id)).map { id in
      let nested = Versions(
        base: parts.base[id]?.value, mine: parts.mine[id]?.value, theirs: parts.theirs[id]?.value)
      let part = part(
        mineValues[id], theirValues[id], nested, at: isObject ? path + [id.description] : path)
      let isOld = parts.mine[id]?.prefix == parts.base[id]?.prefix
      let name = isOld ? parts.theirs[id] ?? parts.mine[id] : parts.mine[id] ?? parts.theirs[id]
      return (id, name.map { Array($0.prefix) } ?? [], part)
    }
    let layout = Layout(of: frame, key: key)
    if pieces.allSatisfy({ $0.2.isSettled }) { return .text(layout.joined(pieces)) }
    func side(_ isMine: Bool) -> [UInt8] {
      layout.joined(
        pieces.compactMap { id, prefix, part in part.side(isMine).map { (id, prefix, .text($0)) } })
    }
    guard layout.isSplit || pieces.allSatisfy({ $0.2.written != nil }) else {
      return .conflict(mine: side(true), theirs: side(false))
    }
    return .marked(layout.marked(pieces), mine: side(true), theirs: side(false))
  }

  /// Returns the identities of both sides, in the order of `mine`. One that only `theirs` has follows the one before it there.
  private static func order(_ mine: [ByteString], _ theirs: [ByteString]) -> [ByteString] {
    let known = Set(mine)
    var followers: [ByteString?: [ByteString]] = [:]
    var last: ByteString?
    for id in theirs {
      if known.contains(id) { last = id } else { followers[last, default: []].append(id) }
    }
    return (followers[nil] ?? []) + mine.flatMap { [$0] + (followers[$0] ?? []) }
  }
}

extension MergedText {
  /// What is written between the parts of a value.
  private struct Layout {
    typealias Piece = (id: ByteString, prefix: [UInt8], part: Part)

    let open: [UInt8]
    /// The usual text between two parts, with its comma.
    let separator: [UInt8]
    let close: [UInt8]
    let isLines: Bool
    /// The text between a part and the one after it.
    private var gaps: [ByteString: (next: ByteString, text: [UInt8])] = [:]

    init(open: [UInt8], separator: [UInt8], close: [UInt8], isLines: Bool) {
      (self.open, self.separator, self.close) = (open, separator, close)
      self.isLines = isLines
    }

    init(of value: WrittenValue, key: String?) {
      let (text, parts) = (value.text, value.parts(key: key) ?? [])
      let first = parts.first?.span ?? value.span
      let last = parts.last?.span ?? value.span
      open = Array(text[value.span.lowerBound..<first.lowerBound])
      close = Array(text[last.upperBound..<value.span.upperBound])
      isLines = value.isLines
      let neighbors = zip(parts, parts.dropFirst()).map { part, next in
        (part.id, next.id, Array(text[part.span.upperBound..<next.span.lowerBound]))
      }
      separator =
        neighbors.first?.2
        ?? (isLines ? Array("\n".utf8) : Array(",".utf8) + open.dropFirst())
      for (part, next, text) in neighbors { gaps[part] = (next, text) }
    }

    /// A Boolean value that indicates whether each part has lines of its own.
    var isSplit: Bool {
      isLines || [open, separator, close].allSatisfy { $0.contains(UInt8(ascii: "\n")) }
    }

    private var lineBreak: [UInt8] {
      separator.starts(with: [0x0D, 0x0A]) || separator.starts(with: [0x2C, 0x0D, 0x0A])
        ? [0x0D, 0x0A] : [0x0A]
    }

    private func gap(after id: ByteString, before next: ByteString) -> [UInt8] {
      if let gap = gaps[id], gap.next == next { gap.text } else { separator }
    }

    func joined(_ pieces: [Piece]) -> [UInt8] {
      if pieces.isEmpty { return isLines ? [] : [open.first, close.last].compactMap(\.self) }
      var bytes = open
      for (index, piece) in pieces.enumerated() {
        if index > 0 { bytes += gap(after: pieces[index - 1].id, before: piece.id) }
        bytes += piece.prefix + (piece.part.written ?? [])
      }
      return bytes + close
    }

    /// Joins parts, each conflict in lines of its own.
    ///
    /// The text is valid whichever side of each conflict is kept. Therefore, a part at the end that only one side has
    /// begins with its comma.
    func marked(_ pieces: [Piece]) -> [UInt8] {
      var pieces = pieces
      if !isLines, pieces.count > 1, !pieces.contains(where: \.part.isFirm) {
        // Each side may have none of them, so no part can carry the commas.
        func side(_ isMine: Bool) -> [UInt8]? {
          let texts = pieces.compactMap { piece in piece.part.side(isMine).map { piece.prefix + $0 }
          }
          return texts.isEmpty ? nil : Array(texts.joined(separator: separator))
        }
        pieces = [(pieces[0].id, [], .conflict(mine: side(true), theirs: side(false)))]
      }
      let lastFirm = pieces.lastIndex { $0.part.isFirm } ?? -1
      var bytes = open
      var isAfterMark = false
      func append(space: some Collection<UInt8>) {
        if isAfterMark, !space.contains(UInt8(ascii: "\n")) { bytes += lineBreak }
        bytes += space
        isAfterMark = false
      }
      for (index, piece) in pieces.enumerated() {
        let before = index == 0 ? [] : gap(after: pieces[index - 1].id, before: piece.id)
        let space = isLines ? before[...] : before[((before.firstIndex(of: 0x2C) ?? -1) + 1)...]
        append(space: space)
        let (leading, trailing): ([UInt8], [UInt8]) =
          isLines
          ? ([], [])
          : (
            index > max(lastFirm, 0) ? Array(", ".utf8) : [], index < lastFirm ? [0x2C] : []
          )
        guard case .conflict(let mine, let theirs) = piece.part else {
          bytes += piece.prefix + (piece.part.written ?? []) + trailing
          continue
        }
        let lineStart = bytes.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        var indentation = Array(bytes[lineStart...])
        if indentation.allSatisfy(WrittenValue.isSpace) {
          bytes.removeSubrange(lineStart...)
        } else {
          indentation = separator.suffix(while: { $0 != 0x0A }).filter(WrittenValue.isSpace)
          bytes += lineBreak
        }
        for (mark, text) in [("<<<<<<< ours", mine), ("=======", theirs)] {
          bytes += Array(mark.utf8) + lineBreak
          if let text {
            bytes += indentation + leading + piece.prefix + text + trailing + lineBreak
          }
        }
        bytes += Array(">>>>>>> theirs".utf8)
        isAfterMark = true
      }
      append(space: close)
      return bytes
    }
  }
}

extension Array<UInt8> {
  fileprivate func suffix(while isIncluded: (UInt8) -> Bool) -> ArraySlice<UInt8> {
    let start = lastIndex { !isIncluded($0) }.map { $0 + 1 } ?? startIndex
    return self[start...]
  }
}
