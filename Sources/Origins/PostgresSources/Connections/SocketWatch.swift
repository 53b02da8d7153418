import Dispatch

/// A descriptor that event sources watch, and that is closed after they have ended.
final class SocketWatch {
  private let reading: (any DispatchSourceRead)?
  private let writing: (any DispatchSourceWrite)?
  private var isWritingActive: Bool
  private let closing = DispatchGroup()

  /// Watches a descriptor.
  ///
  /// - Parameters:
  ///   - isWriting: A Boolean value that indicates whether `onEvent` is called when the descriptor can be written,
  ///     instead of read.
  ///   - onWritable: A closure that is called when the descriptor can be written, between `startWriting` and
  ///     `stopWriting`.
  init(
    _ descriptor: Int32, queue: DispatchQueue, isWriting: Bool,
    onWritable: (@Sendable () -> Void)? = nil, onEvent: @escaping @Sendable () -> Void
  ) {
    let closing = closing
    if isWriting {
      reading = nil
    } else {
      closing.enter()
      let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
      source.setEventHandler(handler: onEvent)
      source.setCancelHandler { closing.leave() }
      reading = source
    }
    if isWriting || onWritable != nil {
      closing.enter()
      let source = DispatchSource.makeWriteSource(fileDescriptor: descriptor, queue: queue)
      source.setEventHandler(handler: onWritable ?? onEvent)
      source.setCancelHandler { closing.leave() }
      writing = source
    } else {
      writing = nil
    }
    isWritingActive = isWriting
    reading?.activate()
    if isWriting { writing?.activate() }
    closing.notify(queue: .global()) { LibPQ.close(descriptor) }
  }

  func startWriting() {
    guard !isWritingActive else { return }
    isWritingActive = true
    writing?.resume()
  }

  func stopWriting() {
    guard isWritingActive else { return }
    isWritingActive = false
    writing?.suspend()
  }

  func cancel() {
    reading?.cancel()
    writing?.cancel()
    // A suspended source never calls its cancel handler.
    startWriting()
  }
}
