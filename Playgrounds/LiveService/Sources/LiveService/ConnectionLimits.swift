import NIOCore
import NIOHTTPTypes

/// The handler of a connection that keeps its buffers small, and closes it some time after the service has begun to
/// stop.
///
/// An open stream ends by itself when the service stops. A client that does not read, or that has sent half a request, would
/// keep the process running.
final class ConnectionLimits: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPRequestPart
  typealias InboundOut = HTTPRequestPart

  /// The number of bytes that a client can leave unread in the process. Writers wait when there are more.
  static let unread = ChannelOptions.Types.WriteBufferWaterMark(low: 2 << 10, high: 4 << 10)
  /// The number of bytes that a client can leave unread in the system.
  private static let unsent = ChannelOptions.Types.SocketOption.Value(256 << 10)

  private let stopLimit: TimeAmount

  /// - Parameter stopLimit: The time in which requests can end when the service stops.
  init(stopLimit: TimeAmount) {
    self.stopLimit = stopLimit
  }

  func handlerAdded(context: ChannelHandlerContext) {
    let channel = context.channel
    // A failure means that the connection is closed already.
    channel.setOption(.writeBufferWaterMark, value: Self.unread).whenFailure { _ in }
    channel.setOption(.socketOption(.so_sndbuf), value: Self.unsent).whenFailure { _ in }
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    FreeMemory.releaseSoon()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event is ChannelShouldQuiesceEvent {
      context.eventLoop.scheduleTask(in: stopLimit) { [channel = context.channel] in
        channel.close(promise: nil)
      }
    }
    context.fireUserInboundEventTriggered(event)
  }
}
