import FileSources
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
import SwappableSources

/// The swaps of a container that commands request. A further swap replaces one that is still loading.
final class SwapRequests: Sendable {
  private let container: SwappableContainer<JSONElement>
  private let options: SourceOptions
  private let changeGuard: ChangeGuard<JSONElement>?
  /// The latest swap, and the task that reports its failure.
  private let latest = Locked<(handle: SwapHandle, report: Task<Void, Never>)?>(nil)

  /// - Parameters:
  ///   - container: The container whose source is swapped.
  ///   - options: The options of each new source.
  ///   - changeGuard: The guard of each swap and each new source.
  init(
    _ container: SwappableContainer<JSONElement>, _ options: SourceOptions,
    guardedBy changeGuard: ChangeGuard<JSONElement>? = nil
  ) {
    self.container = container
    self.options = options
    self.changeGuard = changeGuard
  }

  /// Swaps to a source. A failure is reported on standard error.
  ///
  /// - Returns: The new source.
  @discardableResult
  func swap(
    to specification: SourceSpecification,
    whenSwapped: @escaping @Sendable () -> Void = {}
  ) throws(LivelistError) -> any DataSource<JSONElement> {
    let prefix = "cannot swap to \(specification.text): "
    let source: any DataSource<JSONElement>
    do throws(LivelistError) {
      source = try specification.open(options, guardedBy: changeGuard)
    } catch {
      throw .input(prefix + error.message)
    }
    let handle = container.swap(to: source, guardedBy: changeGuard)
    let report = Task {
      switch await handle.outcome {
      case .swapped, .unchanged: whenSwapped()
      // The later swap reports its own outcome.
      case .superseded: break
      case .failed(let error): Program.report(prefix + LivelistError(cannotLoad: error).message)
      case .cancelled, .cycle: Program.report(prefix + "the swap was canceled")
      }
    }
    latest.withLock { $0 = (handle, report) }
    return source
  }

  /// Cancels the swap that is still loading.
  func cancel() throws(LivelistError) {
    guard let request = latest.withLock({ $0 }), request.handle.outcomeIfKnown == nil else {
      throw .usage("no swap is loading")
    }
    request.handle.cancel()
  }

  /// Waits until the latest swap has ended, or until a guard refuses its change.
  func wait() async {
    guard let request = latest.withLock({ $0 }) else { return }
    let (ends, end) = AsyncStream.makeStream(of: Void.self)
    let observation = container.pendingChange.observe { if $0 != nil { end.finish() } }
    let waiting = Task {
      await request.report.value
      end.finish()
    }
    for await _ in ends {}
    withExtendedLifetime((observation, waiting)) {}
  }
}
