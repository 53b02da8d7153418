import Foundation

/// The parts of a measurement.
struct Options {
  /// The numbers of rows, ascending.
  var sizes: [Int] = []
  /// The pipelines. The first one has no operators.
  var pipelines: [Pipeline] = []
  var kinds: [Edit.Kind] = []
  var hasBatches = false
  var rounds = 15
  /// The number of edits of each kind in a round.
  var edits = 200
  var hasLongTitles = false
  /// The speed of this machine, relative to the machine of the targets, or `nil` to take it from the list without
  /// operators.
  var scale: Double?
  /// The path of the library to compare with.
  var jar: String?

  /// Reads the arguments of the program.
  init(_ arguments: [String]) {
    var names: [String] = []
    var rest = arguments[...]
    func number() -> Int { rest.popFirst().flatMap { Int($0) } ?? 1 }
    while let word = rest.popFirst() {
      switch word {
      case "--rounds": rounds = number()
      case "--edits": edits = max(1, number())
      case "--long-titles": hasLongTitles = true
      case "--scale": scale = rest.popFirst().flatMap { Double($0) }
      case "--glazed-lists": jar = rest.popFirst()
      case "transaction": hasBatches = true
      default:
        if let kind = Edit.Kind(rawValue: word) {
          kinds.append(kind)
        } else if let size = Self.size(word) {
          sizes.append(size)
        } else {
          names.append(word)
        }
      }
    }
    sizes = sizes.isEmpty ? [1_000, 10_000, 100_000, 1_000_000] : sizes.sorted()
    if kinds.isEmpty, !hasBatches { (kinds, hasBatches) = (Edit.Kind.allCases, true) }
    pipelines = Pipeline.all.enumerated().filter { index, pipeline in
      index == 0 || names.isEmpty || names.contains { Self.matches($0, pipeline.name) }
    }.map(\.element)
  }

  /// Returns whether a word chooses a pipeline: its name, or a part of the name if no pipeline has this name.
  private static func matches(_ word: String, _ name: String) -> Bool {
    Pipeline.all.contains { $0.name == word } ? name == word : name.contains(word)
  }

  private static func size(_ word: String) -> Int? {
    switch word.last {
    case "k": Int(word.dropLast()).map { $0 * 1_000 }
    case "M": Int(word.dropLast()).map { $0 * 1_000_000 }
    default: Int(word)
    }
  }
}
