import DataSourceTesting
import Diffing
import FileWatching
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
import TestSupport
import TestTags
import Testing

@testable import FileSources

@Suite struct JSONDocumentUpdateTests {
  @Test(.reaches(.rearrangements))
  func `a random version equals a new document and has an exact change`() throws {
    let seed = TestRun.seed ?? .random(in: 0 ... .max)
    var random = SeededGenerator(seed: seed)
    let decoding = ElementDecoding<JSONElement>(each: { $0 })
    var values = (0..<60).map { "{\"id\":\($0)}" }
    var document: JSONDocument?
    var elements: [JSONElement] = []
    for round in 0..<1_000 {
      for _ in 0..<Int.random(in: 0..<6, using: &random) where !values.isEmpty {
        let index = Int.random(in: 0..<values.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: values.remove(at: index)
        case 1: values.insert("{\"id\":\(random.next() % 90)}", at: index)
        case 2: values.swapAt(index, Int.random(in: 0..<values.count, using: &random))
        default: values[index] = "{\"id\":\(random.next() % 90)}"
        }
      }
      if round % 100 == 99 { values.shuffle(using: &random) }
      if values.isEmpty { values = ["{\"id\":0}"] }
      let bytes = Array(("[" + values.joined(separator: ",") + "]").utf8)
      if let old = document?.bytes {
        let isWhole = Bool.random(using: &random)
        let change = try document?.update(
          for: .init(from: old, to: bytes, isWhole: isWhole), decoding: decoding)
        if let change {
          let previous = elements
          elements = applying(change, to: previous)
          Coverage.note(change.changeset)
          // A text is never both deleted and inserted.
          let deleted = Set(change.changeset.deletions.map { previous[$0].description })
          try #require(
            deleted.isDisjoint(with: change.inserted.map(\.description)), "seed \(seed)")
        }
      } else {
        (document, elements) = try JSONDocument.load(bytes, key: "id", decoding: decoding)
      }
      try #require(elements.map(\.description) == values, "seed \(seed)")
    }
  }

  @Test func `a single value is the only element if it is allowed, before and after an update`()
    throws
  {
    let versions: [(text: String, elements: [String])] = [
      (#"{"id":1}"#, [#"{"id":1}"#]), (#" {"id":12} \n"#, [#"{"id":12}"#]),
      (#"[{"id":1},{"id":2}]"#, [#"{"id":1}"#, #"{"id":2}"#]), ("[]", []),
      (#"[{"id":1}]"#, [#"{"id":1}"#]),
      (#"{"id":1,"n":[1,{"id":3}]}"#, [#"{"id":1,"n":[1,{"id":3}]}"#]),
      (#"{"id":[1]}"#, []), (#"{"id":1} {"id":2}"#, []), (#"{"id":1}]"#, []), (#"{"id":1},"#, []),
    ]
    let decoding = ElementDecoding<JSONElement>()
    func load(_ text: String) -> (document: JSONDocument, elements: [JSONElement])? {
      try? JSONDocument.load(
        Array(text.utf8), key: "id", allowsSingleValue: true, decoding: decoding)
    }
    for (old, elements) in versions {
      guard let (first, before) = load(old) else { continue }
      #expect(before.map(\.description) == elements, "\(old)")
      for (new, after) in versions {
        let isValid = load(new) != nil
        for isWhole in [true, false] {
          var document = first
          let difference = FileDifference(
            from: Array(old.utf8), to: Array(new.utf8), isWhole: isWhole)
          do throws(JSONElement.ParsingError) {
            let change = try document.update(for: difference, decoding: decoding)
            let result = change.map { applying($0, to: before) } ?? before
            #expect(result.map(\.description) == after, "\(old) to \(new)")
            #expect(isValid)
          } catch {
            #expect(!isValid, "\(old) to \(new): \(error)")
          }
        }
      }
    }
  }

  /// Applies a changeset as the event contract defines it.
  private func applying(
    _ change: JSONDocument.Change<JSONElement>, to old: [JSONElement]
  ) -> [JSONElement] {
    let changeset = change.changeset
    var new = old
    for offset in (changeset.deletions + changeset.moves.map(\.from)).sorted().reversed() {
      new.remove(at: offset)
    }
    let inserted =
      zip(changeset.insertions, change.inserted).map { (offset: $0, element: $1) }
      + changeset.moves.map { (offset: $0.to, element: old[$0.from]) }
    for (offset, element) in inserted.sorted(by: { $0.offset < $1.offset }) {
      new.insert(element, at: offset)
    }
    return new
  }

  @Test func `a small change decodes few elements`() throws {
    let decoded = Holder(Locked(0))
    let decoding = ElementDecoding<JSONElement>(each: { element in
      decoded.value.withLock { $0 += 1 }
      return element
    })
    var values = (0..<1_000).map { "{\"id\":\($0)}" }
    func bytes() -> [UInt8] { Array(("[" + values.joined(separator: ",") + "]").utf8) }
    var (document, elements) = try JSONDocument.load(bytes(), key: "id", decoding: decoding)
    let old = document.bytes
    #expect(decoded.value.withLock { $0 } == 1_000)
    values[10] = "{\"id\":10,\"v\":1}"
    values.insert("{\"id\":-1}", at: 500)
    values.append(values.remove(at: 2))
    values.remove(at: 700)
    let change = try #require(
      try document.update(
        for: .init(from: old, to: bytes(), isWhole: true), decoding: decoding))
    #expect(applying(change, to: elements).map(\.description) == values)
    #expect(change.changeset.deletions == [10, 700])
    #expect(change.changeset.insertions == [9, 499])
    #expect(change.changeset.moves == [.init(from: 2, to: 999)])
    #expect(decoded.value.withLock { $0 } == 1_002)
  }
}
