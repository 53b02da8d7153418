#if !canImport(Darwin)
  import Foundation
  import RemoteSources
  import SwappableCurl
  import SwappablePrimitives

  /// The functions of libcurl that this module calls.
  ///
  /// The library is loaded when the first connection opens. Neither the build nor programs that open no connection need
  /// it. `URLSession` calls the same library. On Linux, though, it traps if a server closes a connection within the
  /// head of an answer, it delivers some bytes twice after it was suspended, and a program that links it statically grows
  /// by 45 MB.
  typealias LibCurl = CurlFunctions

  extension LibCurl {
    /// Returns the library, which is loaded at the first call. After a failure, each call tries it again.
    static func loaded() throws(TransportError) -> LibCurl {
      try library.withLock { library throws(TransportError) in
        if let library { return library }
        let loaded = try LibCurl()
        library = loaded
        return loaded
      }
    }

    private static let library = Locked<LibCurl?>(nil)

    // MARK: The end of the process

    /// The number of threads that may use TLS, and whether the process exits.
    ///
    /// When a process exits, libraries of TLS free the data that their functions use on other threads. Before that, `exit`
    /// waits until these threads have left libcurl, and no thread enters it again.
    private static let entered = Locked((count: 0, isClosed: false))

    /// Enters libcurl.
    ///
    /// - Returns: `false` if the process exits, and the thread must not call the library.
    static func enter() -> Bool {
      entered.withLock {
        $0.count += $0.isClosed ? 0 : 1
        return !$0.isClosed
      }
    }

    static func leave() { entered.withLock { $0.count -= 1 } }

    /// Enters libcurl on a thread of a connection, which stays here if the process exits.
    static func enterOrStay() {
      while !enter() { pause() }
    }

    /// Leaves libcurl for a call that waits and does not use TLS.
    static func outside(_ wait: () -> Void) {
      leave()
      defer { enterOrStay() }
      wait()
    }

    private static func close() {
      entered.withLock { $0.isClosed = true }
      // Only a search for the address of a host takes long.
      let deadline = ContinuousClock.now + .seconds(2)
      while entered.withLock({ $0.count > 0 }), .now < deadline { usleep(1_000) }
    }

    /// Loads the first library that exists.
    init(_ names: [String] = ["libcurl.so.4", "libcurl-gnutls.so.4"]) throws(TransportError) {
      var (library, reason) = (UnsafeMutableRawPointer?.none, "No such file")
      for name in names where library == nil {
        library = dlopen(name, RTLD_NOW | RTLD_LOCAL)
        if library == nil, reason.contains("No such file"), let text = dlerror() {
          reason = String(cString: text)
        }
      }
      guard let handle = library else {
        // Another reason, such as a lack of file descriptors, may pass.
        guard reason.contains("No such file") else {
          throw TransportError("cannot load libcurl: \(reason)")
        }
        throw TransportError(
          "libcurl.so.4 is missing; install it (Debian, Ubuntu: apt-get install libcurl4; "
            + "Fedora: dnf install libcurl)", retry: .never)
      }
      var missing: UnsafePointer<CChar>?
      self = swappable_curl_load(handle, &missing)
      if let missing {
        throw TransportError(
          "libcurl has no function \(String(cString: missing)); install 7.68 or later",
          retry: .never)
      }
      let all = 3
      guard globalInit(all) == 0 else {
        throw TransportError("libcurl cannot be initialized", retry: .never)
      }
      // The handlers run in reverse order: this handler runs before the handler that OpenSSL has registered by now.
      atexit { Self.close() }
    }
  }
#endif
