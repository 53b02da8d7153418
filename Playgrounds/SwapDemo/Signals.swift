import Dispatch

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Takes signals, and hands them to the main actor.
@MainActor
final class Signals {
  private let sources: [any DispatchSourceSignal]

  /// Begins to take them.
  ///
  /// - Parameters:
  ///   - numbers: Which signals.
  ///   - handler: Called with the number of each that comes.
  init(_ numbers: [Int32], _ handler: @escaping @MainActor (Int32) -> Void) {
    sources = numbers.map { number in
      // What the signal would do by itself must not be done.
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .main)
      source.setEventHandler { MainActor.assumeIsolated { handler(number) } }
      source.resume()
      return source
    }
  }

  /// Takes no more.
  func cancel() {
    for source in sources { source.cancel() }
  }
}
