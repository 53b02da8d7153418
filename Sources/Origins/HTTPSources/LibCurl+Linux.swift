#if !canImport(Darwin)
  import Foundation
  import RemoteSources
  import SwappablePrimitives

  /// The functions of libcurl that this module calls.
  ///
  /// The library is loaded when the first connection opens. Neither the build nor programs that open no connection need
  /// it. `URLSession` calls the same library. On Linux, though, it traps if a server closes a connection within the
  /// head of an answer, it delivers some bytes twice after it was suspended, and a program that links it statically grows
  /// by 45 MB.
  struct LibCurl: @unchecked Sendable {
    // Sendable: the pointers are constants, and lead to functions that never change.

    /// A `CURL`.
    typealias Easy = OpaquePointer
    /// A `CURLM`.
    typealias Multi = OpaquePointer
    /// A `struct curl_slist`.
    typealias List = OpaquePointer
    typealias Pointer = UnsafeMutableRawPointer
    /// A function that receives a part of a head or a body, and returns the number of bytes that it has processed.
    typealias Receive = @convention(c) (UnsafePointer<UInt8>?, Int, Int, Pointer?) -> Int
    /// A function that creates a socket for an address, which begins with its family, type and protocol.
    typealias MakeSocket = @convention(c) (Pointer?, Int32, UnsafePointer<Int32>?) -> Int32

    /// The fields of a `CURLMsg`.
    struct Message {
      var kind: Int32
      var easy: Easy?
      var result: Int32
    }

    let globalInit: @convention(c) (Int) -> Int32
    let easyInit: @convention(c) () -> Easy?
    let easyCleanup: @convention(c) (Easy) -> Void
    let easyError: @convention(c) (Int32) -> UnsafePointer<CChar>?
    // In C, the following function takes its last argument in any type. On Linux, such arguments are passed in the
    // usual registers.
    let setNumber: @convention(c) (Easy, Int32, Int) -> Int32
    let setPointer: @convention(c) (Easy, Int32, Pointer?) -> Int32
    let setText: @convention(c) (Easy, Int32, UnsafePointer<CChar>) -> Int32
    let setList: @convention(c) (Easy, Int32, List?) -> Int32
    let setReceive: @convention(c) (Easy, Int32, Receive) -> Int32
    let setSocket: @convention(c) (Easy, Int32, MakeSocket) -> Int32
    let append: @convention(c) (List?, UnsafePointer<CChar>) -> List?
    let freeAll: @convention(c) (List?) -> Void
    let multiInit: @convention(c) () -> Multi?
    let multiCleanup: @convention(c) (Multi) -> Int32
    let addHandle: @convention(c) (Multi, Easy) -> Int32
    let removeHandle: @convention(c) (Multi, Easy) -> Int32
    let perform: @convention(c) (Multi, UnsafeMutablePointer<Int32>) -> Int32
    let poll: @convention(c) (Multi, Pointer?, UInt32, Int32, UnsafeMutablePointer<Int32>?) -> Int32
    let wakeup: @convention(c) (Multi) -> Int32
    /// Returns a ``Message``, or `nil` if no transfer has ended.
    let infoRead: @convention(c) (Multi, UnsafeMutablePointer<Int32>) -> Pointer?

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
      var (library, reason) = (Pointer?.none, "No such file")
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
      func function<Function>(_ name: String) throws(TransportError) -> Function {
        guard let symbol = dlsym(handle, "curl_" + name) else {
          throw TransportError(
            "libcurl has no function curl_\(name); install 7.68 or later", retry: .never)
        }
        return unsafeBitCast(symbol, to: Function.self)
      }
      globalInit = try function("global_init")
      easyInit = try function("easy_init")
      easyCleanup = try function("easy_cleanup")
      easyError = try function("easy_strerror")
      setNumber = try function("easy_setopt")
      setPointer = try function("easy_setopt")
      setText = try function("easy_setopt")
      setList = try function("easy_setopt")
      setReceive = try function("easy_setopt")
      setSocket = try function("easy_setopt")
      append = try function("slist_append")
      freeAll = try function("slist_free_all")
      multiInit = try function("multi_init")
      multiCleanup = try function("multi_cleanup")
      addHandle = try function("multi_add_handle")
      removeHandle = try function("multi_remove_handle")
      perform = try function("multi_perform")
      poll = try function("multi_poll")
      wakeup = try function("multi_wakeup")
      infoRead = try function("multi_info_read")
      let all = 3
      guard globalInit(all) == 0 else {
        throw TransportError("libcurl cannot be initialized", retry: .never)
      }
      // The handlers run in reverse order: this handler runs before the handler that OpenSSL has registered by now.
      atexit { Self.close() }
    }
  }
#endif
