import DataSourceTesting
import FileSources
import ObservableCollections
@testable import RemoteSources
import SwappablePrimitives
import TestSupport

/// A connection to a feed that loses, cuts, delays, repeats and exchanges what it sends.
final class FaultProxy: RemoteTransport {
  enum Fault: CaseIterable {
    case cut, parts, delay, duplicate, exchange, drop, none

    static let cases = Coverage.Cases(allCases.map { "\($0)" })
  }

  struct Down: Error, CustomStringConvertible { let description = "the proxy is down" }

  private let feed: @Sendable () -> Feed
  private let random: Shared<SeededGenerator>
  /// The counter of the test, because connections are made in tasks of their own.
  private let coverage = Coverage.current
  private let faults: [Fault]
  private let sparesEveryThird: Bool
  /// A Boolean value that indicates whether connections are refused.
  let isDown = Shared(false)
  /// The number of connections so far.
  let connections = Shared(0)
  private let cutters = Shared<[Int: @Sendable () -> Void]>([:])
  let description = "proxy"

  /// - Parameters:
  ///   - feed: The feed, which is read for each connection.
  ///   - faults: The faults, one of which happens to each line.
  ///   - sparesEveryThird: A Boolean value that indicates whether the first line of each third connection has no fault.
  init(
    _ feed: @autoclosure @escaping @Sendable () -> Feed, seed: UInt64,
    faults: [Fault] = Fault.allCases, sparesEveryThird: Bool = false
  ) {
    (self.feed, self.sparesEveryThird) = (feed, sparesEveryThird)
    random = Shared(SeededGenerator(seed: seed))
    self.faults = faults
  }

  /// Ends all connections, and refuses new ones.
  func breakDown() {
    isDown.modify { $0 = true }
    cut()
  }

  /// Ends all connections.
  func cut() {
    for cutter in cutters.value.values { cutter() }
  }

  func connect(since token: String?) async throws -> any AsyncSequence<[UInt8], any Error> {
    if isDown.value { throw Down() }
    let number = connections.modify { count in
      count += 1
      return count
    }
    let (parts, continuation) = AsyncThrowingStream.makeStream(of: [UInt8].self)
    let lines = feed().lines(since: token, aliveEvery: .milliseconds(10))
    let isSpared = sparesEveryThird && number % 3 == 0
    let task = Task { [random, coverage, faults, isSpared] in
      var isSpared = isSpared
      var held: [UInt8]?
      for await line in lines {
        let (fault, cut) = random.modify { random in
          (faults[random.below(faults.count)], random.below(line.bytes.count))
        }
        defer { isSpared = false }
        coverage?.note("\(isSpared ? .none : fault)")
        switch isSpared ? .none : fault {
        case .none: continuation.yield(line.bytes)
        case .parts:
          for byte in line.bytes { continuation.yield([byte]) }
        case .delay:
          for _ in 0..<100 { await Task.yield() }
          continuation.yield(line.bytes)
        case .duplicate:
          continuation.yield(line.bytes)
          continuation.yield(line.bytes)
        case .exchange:
          held = line.bytes
          continue
        case .drop: break
        case .cut:
          continuation.yield(Array(line.bytes[..<cut]))
          return continuation.finish()
        }
        if let bytes = held { continuation.yield(bytes) }
        held = nil
      }
    }
    cutters.modify { $0[number] = { continuation.finish(throwing: Down()) } }
    continuation.onTermination = { [cutters] _ in
      task.cancel()
      cutters.modify { $0[number] = nil }
    }
    if isDown.value { continuation.finish(throwing: Down()) }
    return parts
  }
}

/// A connection to a feed that ends after a number of bytes, the first times.
final class CuttingProxy: RemoteTransport {
  private let feed: Feed
  /// The numbers of bytes after which connections end. Further connections last.
  private let cuts: Shared<[Int]>
  let description = "cutting proxy"

  init(_ feed: Feed, cuts: [Int]) {
    (self.feed, self.cuts) = (feed, Shared(cuts))
  }

  func connect(since token: String?) async throws -> any AsyncSequence<[UInt8], any Error> {
    let limit = cuts.modify { $0.isEmpty ? Int.max : $0.removeFirst() }
    let (parts, continuation) = AsyncThrowingStream.makeStream(of: [UInt8].self)
    let lines = feed.lines(since: token)
    let task = Task {
      var rest = limit
      for await line in lines {
        continuation.yield(Array(line.bytes.prefix(rest)))
        rest -= min(rest, line.bytes.count)
        if rest == 0 { return continuation.finish() }
      }
    }
    continuation.onTermination = { _ in task.cancel() }
    return parts
  }
}

/// A connection to a feed that sends one line only.
final class FirstLineProxy: RemoteTransport {
  private let feed: Feed
  private let lasts: @Sendable (Int) -> Bool
  private let count = Shared(0)
  private let open = Shared<[AsyncThrowingStream<[UInt8], any Error>.Continuation]>([])
  let description = "first line proxy"

  /// - Parameter lasts: A closure that receives the number of a connection before it begins, from 1 on, and returns whether
  ///   the connection stays open after its line.
  init(_ feed: Feed, lasts: @escaping @Sendable (Int) -> Bool = { _ in true }) {
    (self.feed, self.lasts) = (feed, lasts)
  }

  var openCount: Int { open.value.count }

  /// Ends the open connections.
  func cut() {
    for continuation in open.exchange([]) { continuation.finish() }
  }

  func connect(since token: String?) async throws -> any AsyncSequence<[UInt8], any Error> {
    let number = count.modify { count in
      count += 1
      return count
    }
    let (parts, continuation) = AsyncThrowingStream.makeStream(of: [UInt8].self)
    let isLasting = lasts(number)
    var lines = feed.lines(since: token).makeAsyncIterator()
    if let line = await lines.next() { continuation.yield(line.bytes) }
    if isLasting { open.append(continuation) } else { continuation.finish() }
    return parts
  }
}

extension RemoteDataSource<Item> {
  /// Creates a source that connects again without a pause.
  convenience init(fast transport: any RemoteTransport) {
    self.init(
      transport, key: nil, decoding: ElementDecoding(configuring: { _ in }),
      timing: RemoteTiming(backoff: Backoff(first: .microseconds(10), longest: .milliseconds(1))),
      clock: .continuous)
  }
}
