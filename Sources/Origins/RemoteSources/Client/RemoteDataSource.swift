public import Diffing
public import FileSources
public import Foundation
public import ObservableCollections
import SwappablePrimitives

/// A live collection that another process serves.
///
///     let packages = RemoteDataSource<Package>(.unixSocket(path: "/run/lists.sock", list: "packages"))
///     let observation = packages.observe { print($0) }
///
/// The source is idle until it is observed, or another list is made from it. Then it connects to the server and follows
/// the list.
///
/// If the connection breaks, the contents stay, and the status is `failed`. The source connects again after a short
/// pause, which grows with each connection that fails or ends within five seconds. When it has connected, observers
/// receive at most one change with all that happened meanwhile, or two (rule W2 of the event contract), and the status
/// is the status of the source on the server. The status can arrive before the change, so a list that is `loaded` can
/// lack the missed changes for a moment.
public final class RemoteDataSource<Element: Differentiable & Sendable>: DataSource {
  public let collection: LiveCollection<Element>
  private let reader: RemoteReader<Element>

  init(
    _ transport: any RemoteTransport, key: String?, decoding: ElementDecoding<Element>,
    timing: RemoteTiming, clock: AnyClock
  ) {
    let writer = SourceWriter(of: RemoteDataSource.self, location: "\(transport)")
    writer.setMode("streamed", reason: "The server sends each change.")
    collection = writer.collection
    reader = RemoteReader(
      transport, writer, key: key, decoding: decoding, timing: timing, clock: clock)
  }

  deinit { reader.stop() }

  public func start() { reader.start() }
}

extension RemoteDataSource where Element: Decodable {
  /// Creates a source of elements that `JSONDecoder` decodes.
  ///
  /// A `Date` is decoded from milliseconds since 1970, as a feed encodes it.
  ///
  /// - Parameters:
  ///   - transport: The connection to the list.
  ///   - longestPause: The longest pause between two attempts to connect, at least 100 milliseconds. If the server asks
  ///     for a pause, the source waits for that time, too.
  ///   - clock: The clock that measures pauses.
  ///   - configure: A closure that configures a decoder. Several decoders work at the same time,
  ///     and the closure is called for each.
  public convenience init(
    _ transport: some RemoteTransport, longestPause: Duration = .seconds(15),
    clock: some Clock<Duration> = ContinuousClock(),
    configure: @escaping @Sendable (JSONDecoder) -> Void = { _ in }
  ) {
    self.init(
      transport, key: nil,
      decoding: ElementDecoding { decoder in
        decoder.dateDecodingStrategy = DateCoding.decoding
        configure(decoder)
      },
      timing: RemoteTiming(longestPause: longestPause), clock: AnyClock(clock))
  }
}

extension RemoteDataSource where Element == JSONElement {
  /// Creates a source of the JSON elements themselves.
  ///
  /// - Parameters:
  ///   - transport: The connection to the list.
  ///   - key: The name of the member that identifies an element. By default, the server names it.
  ///   - longestPause: The longest pause between two attempts to connect, at least 100 milliseconds. If the server asks
  ///     for a pause, the source waits for that time, too.
  ///   - clock: The clock that measures pauses.
  public convenience init(
    _ transport: some RemoteTransport, key: String? = nil, longestPause: Duration = .seconds(15),
    clock: some Clock<Duration> = ContinuousClock()
  ) {
    self.init(
      transport, key: key, decoding: ElementDecoding(),
      timing: RemoteTiming(longestPause: longestPause), clock: AnyClock(clock))
  }
}

/// The pauses and limits of a remote source.
struct RemoteTiming: Sendable {
  /// The pauses after failures. They are random, so that clients do not return all at once.
  var backoff = Backoff(first: .milliseconds(100), longest: .seconds(15), jitter: 0.5)
  /// The time after which a connection is a success, so that the pause after it is the first one again.
  var success = Duration.seconds(5)
  /// The time after which a silent connection is given up. By default, a server sends a line every 15 seconds.
  var silence = Duration.seconds(45)
  /// The maximum number of bytes of a line.
  var lineLimit = 1 << 30
}

extension RemoteTiming {
  /// Creates the usual pauses and limits, with another longest pause.
  init(longestPause: Duration) {
    let usual = RemoteTiming().backoff
    precondition(
      longestPause >= usual.first,
      "longestPause must be at least \(usual.first), but is \(longestPause)")
    self.init(
      backoff: Backoff(first: usual.first, longest: longestPause, jitter: usual.jitter))
  }
}
