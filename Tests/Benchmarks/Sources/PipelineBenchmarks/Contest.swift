import AllocationMeter
import Foundation
import Swappable

/// The measured times of a pipeline, in microseconds.
struct Result {
  let pipeline: Pipeline
  var build = 0.0
  /// The time until an edit has been delivered, with the time that the list without operators needs less.
  var edits: [Edit.Kind: (time: Double, extra: Double)] = [:]
  /// The time of a transaction of 2,000 edits.
  var batch: Double?
  /// The changes of parameters, in the order of the pipeline.
  var parameterChanges: [(name: String, time: Double)] = []
  /// The bytes for each row of the source that the operators take, with and without their output.
  var bytes: (all: Double, own: Double) = (0, 0)
}

/// Measures all pipelines over lists of one size, in turn. A slow moment of the machine then affects all of them.
final class Contest {
  private let options: Options
  private let count: Int
  private let subjects: [Subject]
  private let reference: Reference
  private var edits: EditGenerator
  private var results: [Result]

  init(_ count: Int, _ options: Options, _ reference: Reference) {
    (self.count, self.options, self.reference) = (count, options, reference)
    var generator = RowGenerator(hasLongTitles: options.hasLongTitles)
    let rows = (0..<count).map { _ in generator.row() }
    edits = EditGenerator(rows, generator)
    subjects = options.pipelines.map { Subject($0, rows) }
    results = options.pipelines.map { Result(pipeline: $0) }
  }

  func run() -> [Result] {
    measureBuilds()
    measureEdits()
    measureParameterChanges()
    measureMemory()
    return results
  }

  private func forEachSubject(in round: Int, _ body: (_ index: Int, _ subject: Subject) -> Void) {
    for turn in subjects.indices {
      // Vary the order.
      let index = (turn + round) % subjects.count
      body(index, subjects[index])
    }
  }

  private func measureBuilds() {
    var times = subjects.map { _ in [Double]() }
    for round in 0..<(count < 500_000 ? options.rounds : min(options.rounds, 3)) {
      forEachSubject(in: round) { index, subject in
        subject.release()
        times[index].append(processorMicroseconds { subject.derive() })
      }
    }
    for index in results.indices { results[index].build = median(times[index]) }
  }

  private func measureEdits() {
    // The first edit of a list that was loaded as a whole takes longer, and so do that of each group of a list, and the
    // first use of memory.
    for kind in Edit.Kind.allCases {
      let some = edits.edits(kind, count: kind == .update || kind == .change ? 2_000 : 50)
      for subject in subjects { for edit in some { edit.apply(to: subject.rows) } }
    }
    var times = subjects.map { _ in [Edit.Kind: [Double]]() }
    var batches = subjects.map { _ in [Double]() }
    for round in 0..<options.rounds {
      reference.measure(updates: options.edits)
      for kind in options.kinds {
        let some = edits.edits(kind, count: options.edits)
        forEachSubject(in: round) { index, subject in
          var single: [Double] = []
          single.reserveCapacity(some.count)
          for edit in some { single.append(microseconds { edit.apply(to: subject.rows) }) }
          times[index][kind, default: []].append(median(single))
        }
      }
      if options.hasBatches {
        let some = edits.mixedEdits(count: 2_000)
        forEachSubject(in: round) { index, subject in
          batches[index].append(
            processorMicroseconds {
              subject.rows.transaction { draft in for edit in some { edit.apply(to: draft) } }
            })
        }
      }
    }
    for index in results.indices {
      for (kind, medians) in times[index] {
        // Each round is compared with the same round without operators.
        let extra = zip(medians, times[0][kind] ?? []).map { $0 - $1 }
        results[index].edits[kind] = (median(medians), median(extra))
      }
      if options.hasBatches { results[index].batch = median(batches[index]) }
    }
  }

  private func measureParameterChanges() {
    for (index, subject) in subjects.enumerated() {
      for change in subject.derived?.parameterChanges ?? [] {
        var times: [Double] = []
        // Slow changes need fewer rounds, because their length evens out disturbances.
        while times.count < options.rounds, times.count < 3 || times.reduce(0, +) < 1e6 {
          change.prepare()
          times.append(processorMicroseconds { change.run() })
        }
        results[index].parameterChanges.append((change.name, median(times)))
      }
    }
  }

  /// Measures the memory that is freed with each list and its operators.
  private func measureMemory() {
    var plain = 0.0
    for (index, subject) in subjects.enumerated() {
      let (size, output) = (subject.rows.count, subject.derived?.count() ?? 0)
      let before = allocator_bytes_in_use()
      subject.release()
      subject.rows.removeAll()
      let bytes = Double(before - allocator_bytes_in_use()) / Double(size)
      if index == 0 { plain = bytes }
      let outputBytes = plain * Double(output) / Double(size)
      results[index].bytes = (bytes - plain, bytes - plain - outputBytes)
    }
  }
}

/// Returns the time of a short closure, in microseconds. Other programs rarely interrupt it.
@inline(__always)
func microseconds(_ body: () -> Void) -> Double {
  time(CLOCK_MONOTONIC, body)
}

/// Returns the processor time of a long closure, in microseconds. It depends less on other programs than the time on
/// the clock.
@inline(__always)
func processorMicroseconds(_ body: () -> Void) -> Double {
  time(CLOCK_THREAD_CPUTIME_ID, body)
}

@inline(__always)
private func time(_ clock: clockid_t, _ body: () -> Void) -> Double {
  var (start, end) = (timespec(), timespec())
  clock_gettime(clock, &start)
  body()
  clock_gettime(clock, &end)
  return Double(end.tv_sec - start.tv_sec) * 1e6 + Double(end.tv_nsec - start.tv_nsec) / 1e3
}

func median(_ values: [Double]) -> Double {
  values.sorted()[values.count / 2]
}
