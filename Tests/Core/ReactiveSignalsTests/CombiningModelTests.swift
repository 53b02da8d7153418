import DataSourceTesting
import ReactiveSignals
import TestSupport
import Testing

/// Operators over two inputs, compared with a model for every pair of short timelines.
@Suite struct CombiningModelTests {
  /// An event of an input at one tick.
  private enum Marble: CaseIterable {
    case nothing, value, end
  }

  /// The values that an input has sent, and that the result has used.
  private struct Input {
    var values: [String] = []
    var hasEnded = false
  }

  /// The expected result, step by step.
  private struct Model {
    var inputs = [Input(), Input()]
    var line: [[String]] = []
    var pairs = 0
    var hasEnded = false

    mutating func send(_ text: String) {
      if !hasEnded { line[line.count - 1].append("[\(text)]") }
    }

    mutating func end(if isOver: Bool) {
      guard isOver, !hasEnded else { return }
      line[line.count - 1].append("|")
      hasEnded = true
    }

    mutating func merge(_ value: String?) {
      if let value { send(value) }
      end(if: inputs.allSatisfy(\.hasEnded))
    }

    mutating func combineLatest(_ value: String?) {
      if value != nil, let one = inputs[0].values.last, let other = inputs[1].values.last {
        send(one + other)
      }
      let isStuck = inputs.contains { $0.hasEnded && $0.values.isEmpty }
      end(if: isStuck || inputs.allSatisfy(\.hasEnded))
    }

    mutating func zip(_ value: String?) {
      if inputs.allSatisfy({ $0.values.count > pairs }) {
        send(inputs[0].values[pairs] + inputs[1].values[pairs])
        pairs += 1
      }
      end(if: inputs.contains { $0.hasEnded && $0.values.count == pairs })
    }

    var text: String {
      line.map { $0.isEmpty ? "-" : "(\($0.joined()))" }.joined()
    }
  }

  private static func lines(_ length: Int) -> [[Marble]] {
    guard length > 0 else { return [[]] }
    return lines(length - 1).flatMap { line in Marble.allCases.map { line + [$0] } }
  }

  private static func text(_ line: [Marble], _ names: String) -> String {
    Swift.zip(line, names).map { marble, name in
      switch marble {
      case .nothing: "-"
      case .value: String(name)
      case .end: "|"
      }
    }.joined()
  }

  private func checkAll(
    _ make: (Signal<String>, Signal<String>) -> Signal<String>,
    _ step: (inout Model, String?) -> Void
  ) throws {
    for one in Self.lines(3) {
      for other in Self.lines(3) {
        var model = Model()
        for tick in 0..<3 {
          model.line.append([])
          for (index, marble) in [one[tick], other[tick]].enumerated()
          where !model.inputs[index].hasEnded {
            switch marble {
            case .nothing: break
            case .value:
              let value = String(Array(["abc", "xyz"][index])[tick])
              model.inputs[index].values.append(value)
              step(&model, value)
            case .end:
              model.inputs[index].hasEnded = true
              step(&model, nil)
            }
          }
        }
        let marbles = Marbles()
        let inputs = [
          marbles.input(Self.text(one, "abc")), marbles.input(Self.text(other, "xyz")),
        ]
        try marbles.check(make(inputs[0], inputs[1]), model.text)
      }
    }
  }

  @Test func `merge equals its model for all short lines`() throws {
    try checkAll({ $0.merge(with: $1) }, { $0.merge($1) })
  }

  @Test func `combineLatest equals its model for all short lines`() throws {
    try checkAll({ $0.combineLatest($1).map { $0 + $1 } }, { $0.combineLatest($1) })
  }

  @Test func `zip equals its model for all short lines`() throws {
    try checkAll({ $0.zip($1).map { $0 + $1 } }, { $0.zip($1) })
  }

  /// The same in one domain, with one event at each tick.
  @Test func `the same pairs are sent in one domain`() throws {
    for line in Self.lines(4) {
      for choice in 0..<16 {
        // The bits of the choice send each value of the root to one input or the other.
        let input = SignalInput<(Int, String)>()
        let isFirst = (0..<4).map { choice >> $0 & 1 == 0 }
        let one = input.signal.compactMap { isFirst[$0.0] ? $0.1 : nil }
        let other = input.signal.compactMap { isFirst[$0.0] ? nil : $0.1 }
        let (merged, zipped, combined) = (Log<String>(), Log<String>(), Log<String>())
        let observations = [
          one.merge(with: other).observe { merged.append($0) },
          one.zip(other).observe { zipped.append($0 + $1) },
          one.combineLatest(other).observe { combined.append($0 + $1) },
        ]
        var (values, firsts, seconds, latest) = ([String](), [String](), [String](), [String]())
        for (tick, marble) in line.enumerated() where marble == .value {
          let value = String(Array("abcd")[tick])
          input.send((tick, value))
          values.append(value)
          if isFirst[tick] { firsts.append(value) } else { seconds.append(value) }
          if let first = firsts.last, let second = seconds.last { latest.append(first + second) }
        }
        #expect(merged.value == values)
        #expect(zipped.value == Swift.zip(firsts, seconds).map { $0 + $1 })
        #expect(combined.value == latest)
        withExtendedLifetime(observations) {}
      }
    }
  }
}
