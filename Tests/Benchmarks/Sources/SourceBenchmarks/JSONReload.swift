import AllocationMeter
import Foundation
import Measuring
import Swappable

/// Measures the time from a save of a large file to its change, beside the time to decode the whole file.
func measureJSONReload() {
  let measurement = JSONReload()
  measurement.measure("Record") { JSONFileDataSource<Record>(path: $0) }
  measurement.measure("JSONElement") { JSONFileDataSource<JSONElement>(path: $0, key: "id") }
  print(table(measurement.rows))
  print("\nA save of a file of ten records: \(smallSaveLatency()) until the observer was called")
}

private final class JSONReload {
  private let folder = Folder()
  private let path: String
  private let original: Data
  private var file = RecordFile(count: 100_000)
  private var version = 0
  var rows = [["", "time", "faster", "processors", "faster", "memory", "what"]]

  private static let rounds = 21

  init() {
    path = folder.path("records.json")
    original = file.text
    folder.replace("records.json", by: original)
    print("\(text(bytes: original.count)), 100,000 records\n")
    let costs = (0..<7).map { _ in plain() }
    let memory = peakBytes { keep(decode(path)) }
    add("JSONDecoder", "reads and decodes the whole file", costs, plain: costs, memory)
  }

  private func plain() -> Cost { .measure { keep(decode(path)) } }

  private func add(
    _ name: String, _ what: String, _ costs: [Cost], plain: [Cost], _ memory: Int
  ) {
    let (cost, plain) = (costs.median, plain.median)
    rows.append([
      name, text(nanoseconds: cost.wall), Self.ratio(plain.wall, cost.wall),
      text(nanoseconds: cost.processor), Self.ratio(plain.processor, cost.processor),
      text(bytes: memory), what,
    ])
  }

  private static func ratio(_ plain: Double, _ ours: Double) -> String {
    String(format: "×%.\(plain / ours < 9.95 ? 1 : 0)f", plain / ours)
  }

  func measure<Element>(_ name: String, _ make: (String) -> JSONFileDataSource<Element>) {
    file = RecordFile(count: 100_000)
    folder.replace("records.json", by: original)
    var (loads, plains): ([Cost], [Cost]) = ([], [])
    for _ in 0..<Self.rounds / 3 {
      let source = make(path)
      var waiter: Waiter<JSONFileDataSource<Element>>?
      loads.append(
        .measure {
          waiter = Waiter(source)
          waiter?.wait()
        })
      withExtendedLifetime(waiter) {}
      plains.append(plain())
    }
    let source = make(path)
    var waiter: Waiter<JSONFileDataSource<Element>>?
    let memory = peakBytes {
      waiter = Waiter(source)
      waiter?.wait()
    }
    add(name, "first load", loads, plain: plains, memory)
    guard let waiter else { return }

    addSaves(name, "one record changed", wait: { waiter.wait() }) {
      [Int.random(in: 0..<100_000)]
    }
    addSaves(name, "1,000 records changed here and there", wait: { waiter.wait() }) {
      (0..<1_000).map { _ in Int.random(in: 0..<100_000) }
    }
    let reads = ReadWatch(folder)
    addSaves(name, "saved, the same bytes", prepare: reads.forget, wait: reads.wait) { [] }
  }

  private func addSaves(
    _ name: String, _ what: String, prepare: () -> Void = {}, wait: () -> Void,
    changing ids: () -> [Int]
  ) {
    func stage() {
      version += 1
      file.change(ids(), version: version)
      folder.stage(file.text)
    }
    var (costs, plains): ([Cost], [Cost]) = ([], [])
    for round in 0..<Self.rounds {
      stage()
      if round % 3 == 0 { plains.append(plain()) }
      prepare()
      // The measurement excludes the time that the system needs to free the old file.
      let old = FileHandle(forReadingAtPath: path)
      costs.append(
        .measure {
          folder.publish("records.json")
          wait()
        })
      try? old?.close()
    }
    stage()
    prepare()
    let memory = peakBytes {
      folder.publish("records.json")
      wait()
    }
    add(name, what, costs, plain: plains, memory)
  }
}

/// Measures the median and the lowest time from a rename to the call of an observer of a small file.
private func smallSaveLatency() -> String {
  let folder = Folder()
  var file = RecordFile(count: 10)
  folder.replace("small.json", by: file.text)
  let waiter = Waiter(JSONFileDataSource<Record>(path: folder.path("small.json")))
  waiter.wait()
  var times: [Double] = []
  for version in 1...201 {
    file.change([version % 10], version: version)
    folder.stage(file.text)
    let start = DispatchTime.now().uptimeNanoseconds
    folder.publish("small.json")
    times.append(Double(waiter.wait() - start))
  }
  times.sort()
  return "\(text(nanoseconds: times[times.count / 2])) (\(text(nanoseconds: times[0])) at best)"
}

private func decode(_ path: String) -> Int {
  guard let data = FileManager.default.contents(atPath: path),
    let records = try? JSONDecoder().decode([Record].self, from: data)
  else { preconditionFailure("\(path) cannot be decoded") }
  return records.count
}

/// Returns the maximum number of bytes that were allocated in addition to the bytes before.
private func peakBytes(_ body: () -> Void) -> Int {
  allocation_meter_start()
  body()
  return Int(allocation_meter_stop())
}

@inline(never)
private func keep(_ value: Int) {}
