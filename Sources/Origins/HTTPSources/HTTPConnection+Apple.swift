#if canImport(Darwin)
  import Foundation
  import RemoteSources
  import SwappablePrimitives

  // Only where this file is type-checked on Linux.
  #if canImport(FoundationNetworking)
    import FoundationNetworking
  #endif

  /// A request that `URLSession` sends, and its answer.
  ///
  /// The session of a request holds this object until the request ends. It ends when nobody reads the lines any longer.
  final class HTTPConnection: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    // Sendable: the variable is accessed on the serial queue of the session only.

    private let request: EventRequest
    /// The number of parts that were received and not read yet. At the limit, the task is suspended.
    private let unread = Locked(0)
    private var receiver: EventReceiver

    private init(_ request: EventRequest, _ lines: EventReceiver.Lines) {
      self.request = request
      receiver = EventReceiver(lines)
    }

    /// Sends a request, and waits for the head of the answer.
    ///
    /// - Returns: The lines, and an empty part for bytes that complete no line.
    static func start(
      _ request: EventRequest
    ) async throws -> any AsyncSequence<[UInt8], any Error> {
      let (parts, lines) = AsyncThrowingStream.makeStream(of: [UInt8].self)
      let connection = HTTPConnection(request, lines)
      let session = URLSession(
        configuration: .ephemeral, delegate: connection, delegateQueue: nil)
      let task = session.dataTask(with: connection.urlRequest(to: request.url))
      lines.onTermination = { _ in task.cancel() }
      task.resume()
      session.finishTasksAndInvalidate()
      var iterator = parts.makeAsyncIterator()
      guard try await iterator.next() != nil else { throw CancellationError() }
      return parts.map { part in
        connection.unread.withLock { count in
          if count == EventReceiver.partLimit { task.resume() }
          count -= 1
        }
        return part
      }
    }

    private func urlRequest(to url: URL) -> URLRequest {
      var result = URLRequest(url: url, cachePolicy: .reloadIgnoringLocalCacheData)
      // The source itself gives up silent connections.
      result.timeoutInterval = 1_000_000_000
      for (name, value) in request.headers(for: url) {
        result.setValue(value, forHTTPHeaderField: name)
      }
      return result
    }

    // MARK: Events of the session

    func urlSession(
      _ session: URLSession, task: URLSessionTask,
      willPerformHTTPRedirection response: HTTPURLResponse, newRequest: URLRequest,
      completionHandler: @escaping (URLRequest?) -> Void
    ) {
      let target = newRequest.url.flatMap { $0.isWebAddress ? $0 : nil }
      let refusal = target.flatMap {
        EventRequest.refusal(ofRedirectionTo: $0, from: response.url ?? request.url)
      }
      if let refusal { receiver.end(refusal) }
      completionHandler(refusal == nil ? target.map { urlRequest(to: $0) } : nil)
    }

    func urlSession(
      _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
      completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
    ) {
      guard let answer = response as? HTTPURLResponse else { return completionHandler(.cancel) }
      // The session itself decompresses a body.
      let isNeeded = receiver.receive(
        AnswerHead(
          statusCode: answer.statusCode,
          contentType: answer.value(forHTTPHeaderField: "Content-Type"),
          retryAfter: answer.value(forHTTPHeaderField: "Retry-After")))
      if isNeeded, let deadline = receiver.deadline {
        Task {
          try? await Task.sleep(until: deadline, clock: .continuous)
          dataTask.cancel()
        }
      }
      completionHandler(isNeeded ? .allow : .cancel)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
      do {
        guard let part = try receiver.receive(data) else { return }
        // Under the lock: otherwise, the reader could resume the task before it is suspended.
        unread.withLock { count in
          count += 1
          if count == EventReceiver.partLimit { dataTask.suspend() }
        }
        receiver.lines.yield(part)
      } catch {
        receiver.end(error)
      }
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
    ) {
      receiver.end(
        error.map { error in
          switch (error as NSError).code {
          case NSURLErrorCannotConnectToHost:
            TransportError("cannot connect to \(request.url.host ?? "")")
          case NSURLErrorCannotFindHost:
            TransportError("there is no host \(request.url.host ?? "")")
          default: TransportError("the connection broke: \(error.localizedDescription)")
          }
        })
    }
  }
#endif
