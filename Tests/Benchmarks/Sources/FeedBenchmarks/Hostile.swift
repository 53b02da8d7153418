import Foundation
import Measuring
import Synchronization

/// Measures what a good reader notices of hostile clients: the time from a commit until it has the line.
func runHostileClients() {
  var rows = [
    ["median", "99 %", "longest", "lines", "server's memory", "server's processor", "clients"]
  ]
  for attack in Attack.allCases {
    withSocketPath { path in
      let server = ServerProcess(path)
      let good = Swarm([Reader(path, "short")])
      good.wait()
      let attackers = Attackers(attack, path)
      // The attack has begun before the measurement.
      usleep(300_000)
      let processorStart = server.processorTime
      server.commit(rate: 200, seconds: 5)
      let latencies = latencies(of: good, seconds: 5)
      let used = Int((server.processorTime - processorStart) / 5 * 100)
      let count = attackers.stop()
      let result = summary(latencies)
      rows.append(
        [result.median, result.high, result.max].map { Measuring.text(nanoseconds: $0) } + [
          "\(latencies.count)", Measuring.text(bytes: server.memory.highest), "\(used) %",
          "\(attack.rawValue) (\(count))",
        ])
      server.stop()
    }
  }
  print(table(rows), "\n")
}

/// Returns the times from the commits to the lines that a reader receives.
private func latencies(of swarm: Swarm, seconds: Int) -> [Int] {
  var latencies: [Int] = []
  let end = now() + seconds * 1_000_000_000
  Swarm.withScratch { scratch in
    while now() < end {
      let closed = swarm.receive(scratch, milliseconds: 50) { _, line in
        let text = String(decoding: line, as: UTF8.self)
        // The time is the last member of the new element.
        guard let start = text.range(of: "\"time\":", options: .backwards)?.upperBound,
          let time = Int(text[start...].prefix { $0.isNumber })
        else { return }
        latencies.append(now() - time)
      }
      if !closed.isEmpty { fatalError("the server closed the connection of the good reader") }
    }
  }
  return latencies
}

private enum Attack: String, CaseIterable {
  case none = "none"
  case garbage = "lines of garbage"
  case endless = "bytes without a line break"
  case half = "half a request and silence, 1,000 times"
  case crowd = "10,000 connections"
  case churn = "connect and disconnect"
  case requests = "ask for the long list and disconnect"
  case shutdown = "shut down one side"
  case neverReading = "200 that never read the long list"
  case firstByte = "read the first byte of the long list and connect again"
}

/// Threads that behave badly until they are stopped.
private final class Attackers: Sendable {
  private let isStopped = Atomic<Bool>(false)
  private let count = Atomic<Int>(0)
  private let end = DispatchGroup()

  init(_ attack: Attack, _ path: String) {
    guard attack != .none else { return }
    end.enter()
    Thread.detachNewThread { [self] in
      run(attack, path)
      end.leave()
    }
  }

  /// Returns the number of connections that were made.
  func stop() -> Int {
    isStopped.store(true, ordering: .relaxed)
    end.wait()
    return count.load(ordering: .relaxed)
  }

  private var goesOn: Bool { !isStopped.load(ordering: .relaxed) }

  private func connect(_ path: String) -> Int32? {
    guard let descriptor = ClientSocket.connect(path) else { return nil }
    count.add(1, ordering: .relaxed)
    return descriptor
  }

  private func run(_ attack: Attack, _ path: String) {
    switch attack {
    case .none: break
    case .garbage: each(path) { ClientSocket.send(Array("\u{0}\u{1}{]garbage\n".utf8), to: $0) }
    case .endless:
      let part = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20)
      each(path) { descriptor in
        for _ in 0..<1024 where ClientSocket.send(part, to: descriptor) < 0 && errno != EAGAIN {
          break
        }
      }
    case .half: hold(path, 1_000) { ClientSocket.send(Array("{\"list\":".utf8), to: $0) }
    case .crowd:
      hold(path, 10_000) { ClientSocket.send(ClientSocket.request("short"), to: $0) }
    case .churn: each(path) { _ in }
    case .requests: each(path) { ClientSocket.send(ClientSocket.request("rows"), to: $0) }
    case .shutdown:
      each(path) { descriptor in
        ClientSocket.send(ClientSocket.request("short"), to: descriptor)
        Foundation.shutdown(descriptor, Int32(Bool.random() ? SHUT_WR : SHUT_RD))
      }
    case .neverReading: hold(path, 200) { ClientSocket.send(ClientSocket.request("rows"), to: $0) }
    case .firstByte:
      each(path) { descriptor in
        ClientSocket.send(ClientSocket.request("rows"), to: descriptor)
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        poll(&request, 1, 1_000)
        var byte: UInt8 = 0
        _ = read(descriptor, &byte, 1)
      }
    }
  }

  /// Connects again and again.
  private func each(_ path: String, _ body: (Int32) -> Void) {
    while goesOn {
      guard let descriptor = connect(path) else { continue }
      body(descriptor)
      close(descriptor)
    }
  }

  /// Keeps a number of connections open.
  private func hold(_ path: String, _ count: Int, _ body: (Int32) -> Void) {
    var descriptors: [Int32] = []
    while goesOn {
      guard descriptors.count < count, let descriptor = connect(path) else {
        usleep(1_000)
        continue
      }
      body(descriptor)
      descriptors.append(descriptor)
    }
    for descriptor in descriptors { close(descriptor) }
  }
}
