#if !canImport(Darwin)
  import Foundation
  import RemoteSources
  import SwappableCurl
  import SwappablePrimitives
  import Synchronization

  /// A request that libcurl sends, and its answer, on a thread of their own.
  ///
  /// The connection ends when nobody reads the lines any longer.
  final class HTTPConnection: @unchecked Sendable {
    // Sendable: the variables are accessed on the thread of the connection only. Any thread may wake the multi handle.

    private static let redirectionLimit = 20
    /// The number of bytes of a thread's stack.
    private static let stackSize = 1 << 19

    private let curl: LibCurl
    private let multi: OpaquePointer
    private let request: EventRequest
    private let isCanceled = Atomic(false)
    /// The number of parts for which there is room.
    private let room = DispatchSemaphore(value: 0)
    private var receiver: EventReceiver
    /// The address of the present request.
    private var url: URL
    /// The status code and the headers of the answer, or `nil` before its first line.
    private var head: (statusCode: Int, fields: [String: String])?
    private var isHeadComplete = false
    /// The address to which the server redirects the request.
    private var redirection: URL?
    /// The last descriptor that could not be created: the code of libcurl that follows, and the error of the system.
    private var lack: (result: Int32, error: Int32)?
    /// The error that ends the answer early.
    private var error: (any Error)?

    private init(_ request: EventRequest, _ lines: EventReceiver.Lines) throws {
      curl = try LibCurl.loaded()
      guard let multi = curl.multiInit() else { throw TransportError("there is no memory") }
      // Without descriptors for it, a connection that is canceled would stay for a minute.
      guard curl.wakeup(multi) == 0 else {
        _ = curl.multiCleanup(multi)
        throw TransportError(SocketError.reason(EMFILE))
      }
      (self.multi, self.request, url) = (multi, request, request.url)
      receiver = EventReceiver(lines)
      for _ in 0..<EventReceiver.partLimit { room.signal() }
    }

    deinit {
      // It closes connections that libcurl has kept. The end of the process closes them, too.
      guard LibCurl.enter() else { return }
      _ = curl.multiCleanup(multi)
      LibCurl.leave()
    }

    /// Sends a request, and waits for the head of the answer.
    ///
    /// - Returns: The lines, and an empty part for bytes that complete no line.
    static func start(
      _ request: EventRequest
    ) async throws -> any AsyncSequence<[UInt8], any Error> {
      let (parts, lines) = AsyncThrowingStream.makeStream(of: [UInt8].self)
      let connection = try HTTPConnection(request, lines)
      lines.onTermination = { _ in connection.cancel() }
      try connection.startThread()
      var iterator = parts.makeAsyncIterator()
      guard try await iterator.next() != nil else { throw CancellationError() }
      return parts.map { part in
        connection.room.signal()
        return part
      }
    }

    /// Starts the thread of the connection. A queue would block one of the few threads that all queues share.
    private func startThread() throws(TransportError) {
      var thread = pthread_t()
      let attributes = UnsafeMutablePointer<pthread_attr_t>.allocate(capacity: 1)
      pthread_attr_init(attributes)
      defer {
        pthread_attr_destroy(attributes)
        attributes.deallocate()
      }
      pthread_attr_setstacksize(attributes, Self.stackSize)
      pthread_attr_setdetachstate(attributes, Int32(PTHREAD_CREATE_DETACHED))
      // The thread owns one reference to the connection, which it takes over at its start.
      let context = Unmanaged.passRetained(self)
      let code = pthread_create(
        &thread, attributes,
        { context in
          guard let context else { return nil }
          Unmanaged<HTTPConnection>.fromOpaque(context).takeRetainedValue().run()
          return nil
        }, context.toOpaque())
      guard code != 0 else { return }
      context.release()
      throw TransportError("cannot start a thread: \(String(cString: strerror(code)))")
    }

    private func cancel() {
      isCanceled.store(true, ordering: .sequentiallyConsistent)
      room.signal()
      _ = curl.wakeup(multi)
    }

    // MARK: The thread

    private func run() {
      // Without a signal, to close a connection with TLS that the server has closed is only an error.
      var signals = signalSet(SIGPIPE)
      pthread_sigmask(SIG_BLOCK, &signals, nil)
      for _ in 0...Self.redirectionLimit {
        (head, isHeadComplete, redirection, lack) = (nil, false, nil, nil)
        let failure = transfer()
        guard let target = redirection else { return receiver.end(error ?? failure) }
        url = target
      }
      receiver.end(TransportError("the server redirects the request more than 20 times"))
    }

    /// Sends a request to the present address, and receives the answer.
    ///
    /// - Returns: The error of the connection, or `nil` if the answer is complete.
    private func transfer() -> TransportError? {
      LibCurl.enterOrStay()
      defer { LibCurl.leave() }
      guard let easy = curl.easyInit() else { return TransportError("there is no memory") }
      defer { curl.easyCleanup(easy) }
      var fields: OpaquePointer?
      for (name, value) in request.headers(for: url) {
        fields = curl.append(fields, value.isEmpty ? "\(name);" : "\(name): \(value)") ?? fields
      }
      defer { curl.freeAll(fields) }
      var message = [CChar](repeating: 0, count: 256)
      return message.withUnsafeMutableBufferPointer { message in
        let callbacks = callbacks(message.baseAddress)
        swappable_curl_set(curl, easy, url.absoluteString, fields, callbacks)
        _ = curl.addHandle(multi, easy)
        defer { _ = curl.removeHandle(multi, easy) }
        var count: Int32 = 0
        while !isCanceled.load(ordering: .sequentiallyConsistent) {
          _ = curl.perform(multi, &count)
          if let done = curl.infoRead(multi, &count) {
            let result = done.pointee.result
            if result == 0, isHeadComplete { return nil }
            if let lack, lack.result == result, [EMFILE, ENFILE].contains(lack.error) {
              return TransportError(SocketError.reason(lack.error))
            }
            let text = message.baseAddress.map { String(cString: $0) }
            let known = curl.easyError(result).map { String(cString: $0) }
            return TransportError(
              code: result, url, message: text ?? "", known: known ?? "",
              environment: ProcessInfo.processInfo.environment)
          }
          if let deadline = receiver.deadline, deadline <= .now { return nil }
          LibCurl.outside {
            _ = curl.poll(multi, nil, 0, receiver.deadline == nil ? 60_000 : 1_000, nil)
          }
        }
        return TransportError("the request was canceled")
      }
    }

    /// The functions that libcurl calls on the thread of the connection.
    private func callbacks(_ message: UnsafeMutablePointer<CChar>?) -> CurlReceiver {
      CurlReceiver(
        context: Unmanaged.passUnretained(self).toOpaque(), error: message,
        makeSocket: { context, _, address in
          // The socket must be closed in child processes. Not every version of libcurl does that.
          let kind = address.pointee.type | Int32(SOCK_CLOEXEC.rawValue)
          let descriptor = socket(address.pointee.family, kind, address.pointee.protocol)
          // TLS needs another descriptor for the certificates.
          let other = descriptor < 0 ? -1 : fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
          if other < 0 { HTTPConnection.of(context).lack = (descriptor < 0 ? 7 : 77, errno) }
          close(other)
          return descriptor
        },
        receiveHead: { bytes, size, count, context in
          let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
          return HTTPConnection.of(context).receive(line: line) ? line.count : 0
        },
        receiveBody: { bytes, size, count, context in
          let part = UnsafeRawBufferPointer(start: bytes, count: size * count)
          return HTTPConnection.of(context).receive(part) ? part.count : 0
        })
    }

    private static func of(_ context: UnsafeMutableRawPointer) -> HTTPConnection {
      Unmanaged.fromOpaque(context).takeUnretainedValue()
    }

    // MARK: Receiving

    /// Receives a line of a head.
    ///
    /// - Returns: A Boolean value that indicates whether the rest of the answer is needed.
    private func receive(line bytes: UnsafeRawBufferPointer) -> Bool {
      let line = String(decoding: bytes, as: UTF8.self).withoutOuterSpace
      if isHeadComplete { return true }
      if line.hasPrefix("HTTP/") {
        head = (line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0, [:])
      } else if let colon = line.firstIndex(of: ":") {
        let value = line[colon...].dropFirst().withoutOuterSpace
        head?.fields[line[..<colon].lowercased()] = value
      } else if line.isEmpty, let head, head.statusCode >= 200 {
        isHeadComplete = true
        if [301, 302, 303, 307, 308].contains(head.statusCode),
          let target = head.fields["location"].flatMap({ URL(escaping: $0, relativeTo: url) }),
          target.isWebAddress
        {
          error = EventRequest.refusal(ofRedirectionTo: target, from: url)
          redirection = error == nil ? target.absoluteURL : nil
          return false
        }
        return receiver.receive(
          AnswerHead(
            statusCode: head.statusCode, contentType: head.fields["content-type"],
            retryAfter: head.fields["retry-after"],
            contentEncoding: head.fields["content-encoding"]))
      }
      return true
    }

    /// Receives a part of a body.
    ///
    /// - Returns: A Boolean value that indicates whether the rest of the answer is needed.
    private func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
      do {
        guard let part = try receiver.receive(bytes) else { return true }
        LibCurl.outside { room.wait() }
        receiver.lines.yield(part)
        return !isCanceled.load(ordering: .sequentiallyConsistent)
      } catch {
        self.error = error
        return false
      }
    }
  }

  extension TransportError {
    /// Creates the error for a code of libcurl.
    ///
    /// - Parameters:
    ///   - code: The code, or 0 if the connection ended before the head of the answer was complete.
    ///   - url: The address of the request.
    ///   - message: The message of the connection, which may be empty.
    ///   - known: The text of libcurl for the code.
    ///   - environment: The variables that name the proxy.
    init(
      code: Int32, _ url: URL, message: String, known: String, environment: [String: String]
    ) {
      let host = url.host ?? ""
      let (proxy, proxyPort) = Self.proxy(of: url, environment)
      let proxyHost = URL(string: "http://\(proxy)")?.host ?? proxy
      // Newer versions name both: "Failed to connect to HOST port 443 via PROXY".
      let namesProxy = ["connect to \(proxyHost) port \(proxyPort) ", " via ", "proxy scheme"]
        .contains { message.contains($0) }
      let isClosed =
        message.isEmpty
        || ["Recv failure", "SSL_read", "recv error"].contains { message.contains($0) }
      switch code {
      case 0, 18, 52: self.init("the server closed the connection too early")
      case 56 where isClosed: self.init("the server closed the connection too early")
      case 1 where message.contains("HTTP/0.9"): self.init("the server does not answer with HTTP")
      case 1 where !message.hasPrefix("Protocol "), 8:
        let reason = message.isEmpty ? known : message
        self.init("the server does not answer with valid HTTP: \(reason)")
      case 5: self.init("there is no host \(proxy), the proxy of this machine")
      case 97:
        self.init("the proxy \(proxy) does not connect: \(message.isEmpty ? known : message)")
      case 6: self.init("there is no host \(host)")
      case 7 where !proxy.isEmpty && namesProxy:
        self.init("cannot connect to \(proxy), the proxy of this machine")
      case 7: self.init("cannot connect to \(host)")
      default:
        // The message of an error of TLS is more precise. Other messages contain times and numbers of bytes.
        let isPrecise = [35, 56, 60, 77].contains(code) && !message.isEmpty
        self.init("the connection broke: \(isPrecise ? message : known)")
      }
    }

    /// Returns the proxy of an address, without a user name, a password and a path, and its port.
    private static func proxy(
      of url: URL, _ environment: [String: String]
    ) -> (name: String, port: Int) {
      let names =
        url.scheme?.lowercased() == "https" ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy"]
      let values = (names + ["all_proxy", "ALL_PROXY"]).compactMap { environment[$0] }
      let text = values.first { !$0.isEmpty } ?? ""
      let address = text.firstRange(of: "://").map { text[$0.upperBound...] } ?? text[...]
      let host = address.lastIndex(of: "@").map { address[$0...].dropFirst() } ?? address
      let name = String(host.prefix { !"/?#".contains($0) })
      let usualPort = text.lowercased().hasPrefix("https://") ? 443 : 1080
      return (name, URL(string: "http://\(name)")?.port ?? usualPort)
    }
  }
#endif
