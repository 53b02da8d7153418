public import Diffing

/// An origin that a ``PolledDataSource`` reads: a file, a database, a web service. It reads only when it is asked to.
///
/// A source needs no more than a method that reads:
///
///     struct Departures: PolledSource {
///       typealias Element = Departure
///       let platform: Int
///
///       func read(_: ReadAttempt, _: inout Void) async throws -> ReadResult {
///         .contents(.whole(try await departures(from: platform)), again: .seconds(30))
///       }
///     }
///
///     let departures = PolledDataSource(Departures(platform: 1), location: "platform 1")
///     let observation = departures.observe { … }
///
/// A source that learns of changes reports them to the closure that ``start(_:)`` receives. Then it need not be read
/// regularly. The guide "Write your own data source" has both.
public protocol PolledSource<Element>: Sendable {
  /// An element of the list.
  associatedtype Element: Differentiable & Sendable
  /// A change since the last read, if that helps to read less.
  associatedtype Change: Sendable = Void
  /// The state that the source keeps between its reads, for example the place up to which it has read.
  associatedtype Memory: Sendable = Void

  /// Prepares the first read, and begins to follow changes.
  ///
  /// - Parameter report: A closure that notes a change, which leads to a read. Any thread can call it, at any time.
  /// - Returns: The memory. It is released after the data source, when no read runs. What follows the changes belongs in
  ///   it, too.
  func start(_ report: @escaping @Sendable (Change) -> Void) -> Memory

  /// Adds a change to those that are not read yet.
  ///
  /// It is called under a lock, so it must only compute.
  func merge(_ change: Change, into unread: inout Change)

  /// Returns the time at which changes are read. Usually, this is now.
  ///
  /// It is called under a lock, so it must only compute.
  ///
  /// - Parameters:
  ///   - unread: The changes since the last read began.
  ///   - memory: The memory after the last read.
  func readTime(of unread: Change, _ memory: Memory) -> PolledDataSource<Self>.ReadTime

  /// Reads. One read runs at a time, on a thread that it may block.
  ///
  /// The release of the data source cancels the task of the read. No transaction, lock or other resource should be held
  /// when the method returns: observers are called then.
  ///
  /// - Parameters:
  ///   - attempt: The reason for the read, and the contents before it.
  ///   - memory: The memory.
  /// - Throws: Any error. It is shown as the status `failed`, and the source is read again after a pause, which grows from
  ///   half a second to a minute. Return a result to decide otherwise.
  func read(
    _ attempt: PolledDataSource<Self>.ReadAttempt, _ memory: inout Memory
  ) async throws -> PolledDataSource<Self>.ReadResult
}

extension PolledSource {
  /// The time at which a change is read.
  public typealias ReadTime = PolledDataSource<Self>.ReadTime
  /// The circumstances of a read.
  public typealias ReadAttempt = PolledDataSource<Self>.ReadAttempt
  /// The result of a read.
  public typealias ReadResult = PolledDataSource<Self>.ReadResult

  public func readTime(of _: Change, _: Memory) -> ReadTime { .now }
}

extension PolledSource where Change == Void {
  /// Does nothing, because all changes are equal.
  public func merge(_: Void, into _: inout Void) {}
}

extension PolledSource where Memory == Void {
  /// Follows no changes.
  public func start(_: @escaping @Sendable (Change) -> Void) {}
}

extension PolledDataSource {
  /// The time at which a change is read.
  public struct ReadTime: Sendable {
    package let request: ReadSchedule.Request?

    /// As soon as possible.
    public static var now: ReadTime { ReadTime(request: .now) }
    /// After a while, together with what is reported meanwhile.
    public static func after(_ wait: Duration) -> ReadTime { ReadTime(request: .after(wait)) }
    /// When the rest after the last read is over.
    ///
    /// The rest is eight times the duration of the read, but at most 0.1 seconds. In a burst of changes, this leaves most
    /// of the time to their writer.
    public static var atRest: ReadTime { ReadTime(request: .atRest) }
    /// When nothing was reported for a while, but after 50 times this while at the latest.
    public static func whenQuiet(for wait: Duration) -> ReadTime {
      ReadTime(request: .whenQuiet(for: wait))
    }
    /// With the next read, whatever leads to it.
    public static var later: ReadTime { ReadTime(request: nil) }
  }

  /// The circumstances of a read.
  public struct ReadAttempt: Sendable {
    /// The changes since the last read that had contents, or `nil` if none was reported.
    public let change: Source.Change?
    /// The list that is read.
    public let collection: LiveCollection<Element>
    /// A Boolean value that indicates whether a caller waits for the read, because of ``refresh()``.
    public let isRefresh: Bool
    /// The time for which the contents have been incomplete or missing.
    public let waited: Duration
    /// The number of reads that have failed since the last one that had contents.
    public let failures: Int
    /// A Boolean value that indicates whether the list lacks what an earlier read has found, until other sources have read.
    package let isListBehind: Bool

    /// A Boolean value that indicates whether no read has ended yet, neither with contents nor with a shown failure.
    package var isFirst: Bool { collection.current.state.status.state == .loading }
  }

  /// The result of a read.
  public struct ReadResult: Sendable {
    package enum Outcome: Sendable {
      case contents(SourceWriter<Element>.Contents, completeAfter: Duration?)
      case nothing(for: Duration?)
      case failure(SourceStatus.State, shownAfter: Duration)
    }

    package var outcome: Outcome
    package var hasContents: Bool {
      if case .contents = outcome { true } else { false }
    }
    /// The pause before the next read that no change leads to.
    package var pause: Duration?
    /// Remarks that replace the earlier ones.
    public var diagnostics: [SourceStatus.Diagnostic] = []
    /// The state that is shown with the contents.
    package var state = SourceStatus.State.loaded
    /// How the source follows changes, and why, for explanations.
    public var mode: (name: String, reason: String)?
    /// A Boolean value that indicates whether the contents were read, or are known to be the same.
    package var hasRead = true
    /// A Boolean value that indicates whether no two elements have one identity.
    package var areIdentitiesUnique = false
    /// A Boolean value that indicates whether other sources of the group may have changed by the same cause.
    package var hasCommonCause = false
    /// A Boolean value that indicates whether a writer is active. What is incomplete is then given more time.
    package var isBeingWritten = false

    package init(_ outcome: Outcome, again pause: Duration? = nil) {
      (self.outcome, self.pause) = (outcome, pause)
    }

    /// Returns the result of a read that has contents.
    ///
    /// - Parameters:
    ///   - contents: The contents. An exact change must fit the contents before the read.
    ///   - pause: The pause before the next read, or `nil` if only a change leads to one.
    public static func contents(
      _ contents: SourceWriter<Element>.Contents, again pause: Duration? = nil
    ) -> ReadResult {
      ReadResult(.contents(contents, completeAfter: nil), again: pause)
    }

    /// Returns the result of a read that has found nothing that counts yet, for example because a program still writes.
    ///
    /// - Parameter wait: The longest pause before the next read, or `nil` if only a change leads to one.
    public static func nothing(for wait: Duration?) -> ReadResult {
      ReadResult(.nothing(for: wait))
    }

    /// Returns the result of a read that has failed. The contents stay.
    ///
    /// - Parameters:
    ///   - state: The state that the status shows: `failed` or `missing`.
    ///   - wait: The time for which reads must fail before the status shows it.
    ///   - pause: The pause before the next read, or `nil` if only a change leads to one.
    public static func failure(
      _ state: SourceStatus.State, shownAfter wait: Duration = .zero, again pause: Duration? = nil
    ) -> ReadResult {
      ReadResult(.failure(state, shownAfter: wait), again: pause)
    }
  }
}
