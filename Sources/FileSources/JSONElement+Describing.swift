public import Diffing

/// The key comes first, then the members by name.
extension JSONElement: ChangeDescribable {
  /// The key as JSON; `nil` where the element has none.
  public var changeLabel: String? {
    storage.key == storage.bytes.indices ? nil : differenceIdentifier.description
  }

  /// The canonical text, without the member that is the key.
  public var changeText: String {
    guard storage.key != storage.bytes.indices else { return description }
    let members = JSONText.children(of: storage.bytes).filter { $0.value != storage.key }
    let texts = members.map { member in
      String(
        decoding: storage.bytes[(member.name ?? member.value).lowerBound..<member.value.upperBound],
        as: UTF8.self)
    }
    return "{\(texts.joined(separator: ","))}"
  }

  /// The members that differ, those of a member that is an object on both sides by their path.
  public func changedFields(from old: JSONElement) -> [FieldChange] {
    var changes: [FieldChange] = []
    Self.compare(old.storage.bytes, storage.bytes, path: "", into: &changes)
    return changes
  }

  private static func compare(
    _ old: [UInt8], _ new: [UInt8], path: String, into changes: inout [FieldChange]
  ) {
    guard isObject(old), isObject(new) else { return }
    let (olds, news) = (JSONText.children(of: old), JSONText.children(of: new))
    func name(_ name: Range<Int>?, in bytes: [UInt8]) -> String {
      path + (name.map { JSONText.decoded(bytes[$0]) } ?? "")
    }
    var isMatched = Array(repeating: false, count: olds.count)
    for (child, place) in zip(news, places(of: news, in: new, among: olds, in: old)) {
      guard let place else {
        changes.append(
          FieldChange(name: name(child.name, in: new), old: nil, new: text(new[child.value])))
        continue
      }
      isMatched[place] = true
      let (oldValue, newValue) = (old[olds[place].value], new[child.value])
      if oldValue == newValue { continue }
      let (oldBytes, newBytes) = (Array(oldValue), Array(newValue))
      let name = name(child.name, in: new)
      if isObject(oldBytes), isObject(newBytes) {
        compare(oldBytes, newBytes, path: name + ".", into: &changes)
      } else if JSONElement(canonical: oldBytes) != JSONElement(canonical: newBytes) {
        changes.append(FieldChange(name: name, old: text(oldValue), new: text(newValue)))
      }
    }
    for (child, isMatched) in zip(olds, isMatched) where !isMatched {
      changes.append(
        FieldChange(name: name(child.name, in: old), old: text(old[child.value]), new: nil))
    }
  }

  private typealias Child = (name: Range<Int>?, value: Range<Int>)

  /// For each new member the place of the old one of its name; of several, that of the first for the
  /// first.
  private static func places(
    of news: [Child], in new: [UInt8], among olds: [Child], in old: [UInt8]
  ) -> [Int?] {
    func name(_ child: Child, in bytes: [UInt8]) -> ArraySlice<UInt8> {
      child.name.map { bytes[$0] } ?? []
    }
    let isSame =
      olds.count == news.count
      && zip(olds, news).allSatisfy { name($0, in: old) == name($1, in: new) }
    if isSame { return Array(news.indices) }
    var places: [ArraySlice<UInt8>: [Int]] = [:]
    for (place, child) in olds.enumerated().reversed() {
      places[name(child, in: old), default: []].append(place)
    }
    return news.map { places[name($0, in: new)]?.popLast() }
  }

  private static func isObject(_ bytes: [UInt8]) -> Bool { bytes.first == UInt8(ascii: "{") }

  private static func text(_ bytes: ArraySlice<UInt8>) -> String {
    String(decoding: bytes, as: UTF8.self)
  }
}
