import Foundation
import RemoteSources

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A request, and the lines of the events in its answer.
///
/// The session of a request holds this object until the request ends. It ends when nobody reads the lines any longer.
final class EventStreamTask: NSObject, URLSessionDataDelegate, @unchecked Sendable {
  // Sendable: the variables are accessed on the serial queue of the session only.

  /// The maximum number of parts that were received and not read yet. Most parts have 16 kB. A task cannot be suspended
  /// to make the server wait: after that, `URLSession` on Linux delivers some bytes twice.
  private static let partLimit = 1 << 16
  /// The maximum number of bytes of an event, which is the limit of the source for a line.
  private static let eventLimit = 1 << 30
  /// The number of bytes of an error's answer that are read at most.
  private static let errorLimit = 4_096

  private let request: URLRequest
  private let headers: [String: String]
  private let lines: AsyncThrowingStream<[UInt8], any Error>.Continuation
  private var parser = EventStreamParser(maximumEventSize: eventLimit)
  /// The answer if it is no stream of events, and the beginning of its body.
  private var refusal: (answer: HTTPURLResponse, body: Data)?

  private init(
    _ request: URLRequest, _ headers: [String: String],
    _ lines: AsyncThrowingStream<[UInt8], any Error>.Continuation
  ) {
    (self.request, self.headers, self.lines) = (request, headers, lines)
  }

  /// Sends a request, and waits for the head of the answer.
  ///
  /// - Parameters:
  ///   - request: The request without the headers of the user.
  ///   - headers: The headers of the user.
  /// - Returns: The lines, and an empty part for bytes that complete no line.
  static func start(
    _ request: URLRequest, headers: [String: String]
  ) async throws -> AsyncThrowingStream<[UInt8], any Error> {
    let (parts, lines) = AsyncThrowingStream.makeStream(
      of: [UInt8].self, bufferingPolicy: .bufferingOldest(partLimit))
    let delegate = EventStreamTask(request, headers, lines)
    let configuration = URLSessionConfiguration.ephemeral
    configuration.timeoutIntervalForResource = request.timeoutInterval
    let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    let task = session.dataTask(with: delegate.request(to: request.url))
    lines.onTermination = { _ in task.cancel() }
    task.resume()
    session.finishTasksAndInvalidate()
    // The head of the answer is an empty part.
    var iterator = parts.makeAsyncIterator()
    guard try await iterator.next() != nil else { throw CancellationError() }
    return parts
  }

  /// Returns the request to an address. Only the server that the user has named receives the user's headers.
  private func request(to url: URL?) -> URLRequest {
    var copy = request
    copy.url = url
    if let url, let first = request.url, origin(of: url) == origin(of: first) {
      for (name, value) in headers { copy.setValue(value, forHTTPHeaderField: name) }
    }
    return copy
  }

  private func origin(of url: URL) -> [String?] {
    let scheme = url.scheme?.lowercased()
    let port = url.port ?? (scheme == "https" ? 443 : 80)
    return [scheme, url.host?.lowercased(), "\(port)"]
  }

  // MARK: Events of the session

  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    willPerformHTTPRedirection response: HTTPURLResponse, newRequest: URLRequest,
    completionHandler: @escaping (URLRequest?) -> Void
  ) {
    let isWeb = ["http", "https"].contains(newRequest.url?.scheme?.lowercased())
    completionHandler(isWeb ? request(to: newRequest.url) : nil)
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
  ) {
    if let answer = response as? HTTPURLResponse {
      if answer.statusCode == 200, answer.mimeType?.lowercased() == "text/event-stream" {
        lines.yield([])
      } else {
        refusal = (answer, Data())
      }
    }
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    if refusal != nil {
      refusal?.body.append(data)
      if let refusal, refusal.body.count >= Self.errorLimit { end(with: nil) }
      return
    }
    do {
      var part: [UInt8] = []
      for event in try parser.parse(data) where event.type == "message" {
        // A line break between the lines of an event is white space of JSON.
        part += event.data.utf8.lazy.map { $0 == UInt8(ascii: "\n") ? UInt8(ascii: " ") : $0 }
        part.append(UInt8(ascii: "\n"))
      }
      if case .dropped = lines.yield(part) {
        throw TransportError("the server sends faster than this client reads")
      }
    } catch {
      lines.finish(throwing: error)
    }
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
  ) {
    end(with: error)
  }

  /// Ends the lines. An error of the connection does not matter if the answer itself is an error.
  private func end(with error: (any Error)?) {
    if let refusal {
      lines.finish(throwing: TransportError(refusal.answer, body: refusal.body))
    } else if let error {
      lines.finish(throwing: TransportError(error, host: request.url?.host ?? ""))
    } else if let time = parser.reconnectionTime {
      lines.finish(
        throwing: TransportError("the server closed the connection", retry: .after(time)))
    } else {
      lines.finish()
    }
  }
}
