import AllocationMeter
import DifferenceWorkloads
import Foundation
import Measuring
import Swappable

// The cost of the difference of two lists, beside the standard library, a difference that hashes all elements, and
// the lower limits. All runs are warm, and ours also cold, or all runs are cold:
//
//     swift run -c release --package-path Tests/Benchmarks DifferenceBenchmarks [WORD…] [--cold]

/// A workload without the type of its elements.
struct Candidate {
  let name: String
  let summary: String
  let rank: Int
  let prepare: () -> Contest

  init<Element: Differentiable & Hashable>(_ workload: Workload<Element>) {
    name = workload.name
    summary = workload.summary
    rank = workload.rank
    prepare = { makeContest(workload) }
  }
}

var words = Array(CommandLine.arguments.dropFirst())
let temperature: Temperature = words.contains("--cold") ? .cold : .warm
words.removeAll { $0 == "--cold" }

let candidates =
  Workload<UUID>.identifiers.map { Candidate($0) } + Workload<Row>.rows.map { Candidate($0) }
  + Workload<String>.paths.map { Candidate($0) } + Workload<Int>.numbers.map { Candidate($0) }
// A complete name selects that workload alone: W1 is not W10.
let named = candidates.filter { words.contains($0.name) }
let chosen =
  words.isEmpty
  ? candidates
  : !named.isEmpty
    ? named
    : candidates.filter { candidate in words.allSatisfy { candidate.summary.contains($0) } }

/// Formats a time, and its ratio to ours in two digits.
func cell(_ time: Double?, ours: Double) -> String {
  guard let time else { return "–" }
  let ratio = time / ours
  let digits =
    switch ratio {
    case ..<0.095: 3
    case ..<0.95: 2
    case ..<9.5: 1
    default: 0
    }
  return "\(text(nanoseconds: time)) ×" + String(format: "%.\(digits)f", ratio)
}

/// Our time with cold caches and memory, unless the whole table is cold.
func coldCells(_ contest: Contest) -> [String] {
  guard temperature == .warm else { return [] }
  let times = medians(of: [contest.ours, contest.plain], .cold)
  return [text(nanoseconds: times[0]), String(format: "%.2f", times[0] / times[1])]
}

func row(_ candidate: Candidate) -> [String] {
  let contest = candidate.prepare()
  let times = medians(
    of: [contest.ours, contest.plain] + contest.limits + contest.rivals, temperature)
  let ours = times[0]
  let isFewest = contest.moveCount == contest.fewestMoveCount
  let rivals = contest.rivals.isEmpty ? [nil, nil] : [times[5], times[6]]
  return [
    candidate.name,
    text(nanoseconds: ours),
    text(nanoseconds: times[1]),
    String(format: "%.2f", ours / times[1]),
  ] + coldCells(contest) + [
    cell(rivals[0], ours: ours),
    cell(rivals[1], ours: ours),
    cell(times[2], ours: ours),
    cell(times[3], ours: ours),
    cell(times[4], ours: ours),
    "\(contest.moveCount)" + (isFewest ? "" : ", not \(contest.fewestMoveCount)"),
    text(bytes: contest.peakBytes),
    candidate.summary,
  ]
}

if temperature == .warm { allocator_keep_freed_memory() }
var rows = [
  ["", "ours", "plain", "ours/plain"] + (temperature == .warm ? ["ours, cold", "ours/plain"] : [])
    + [
      "difference", "inferringMoves", "== pass", "hashes", "Dictionary", "moves", "memory", "",
    ]
]
for candidate in chosen.sorted(by: { $0.rank < $1.rank }) {
  FileHandle.standardError.write(Data("\(candidate.name) ".utf8))
  rows.append(row(candidate))
}
FileHandle.standardError.write(Data("\n".utf8))
print(temperature == .warm ? "Warm." : "Cold.", "×: times as long as ours.\n")
print(table(rows))
