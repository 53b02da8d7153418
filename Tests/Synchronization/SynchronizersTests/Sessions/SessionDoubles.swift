import DataSourceTesting
import Diffing
import ObservableCollections
import Synchronizers
import TestSupport

/// A call of a session to its remote or its store.
enum Call: String, Sendable, Hashable, CaseIterable {
  case fetch, push, save, load
}

/// A moment of a call: before its effect, or after its effect and before its answer.
enum Moment: String, Sendable, Hashable, CaseIterable {
  case before, after
}

/// A closure that is called at both moments of each call. The session receives its errors.
typealias CallHook = @Sendable (Call, Moment) async throws -> Void

/// An error of a hook that makes the remote reject a push.
struct Rejection: Error {
  let reason: String
}

/// A remote in memory whose calls run a hook.
struct HookedRemote<Element: Differentiable & Sendable>: SynchronizationRemote {
  let base: InMemoryRemote<Element>
  /// A Boolean value that indicates whether the remote forgets the identifiers of pushes.
  var isForgetful = false
  let hook: CallHook

  init(_ base: InMemoryRemote<Element>, isForgetful: Bool = false, hook: @escaping CallHook) {
    (self.base, self.isForgetful, self.hook) = (base, isForgetful, hook)
  }

  func fetch(unlessAt version: Int?) async throws -> RemoteContents<Element, Int>? {
    try await hook(.fetch, .before)
    let contents = await base.fetch(unlessAt: version)
    try await hook(.fetch, .after)
    return contents
  }

  func push(_ push: RemotePush<Element, Int>) async throws -> RemotePush<Element, Int>.Answer {
    do {
      try await hook(.push, .before)
    } catch let rejection as Rejection {
      return .rejected(reason: rejection.reason)
    }
    let id = isForgetful ? "\(UInt64.random(in: 0 ... .max))" : push.id
    let answer = await base.push(
      RemotePush(id: id, version: push.version, before: push.before, after: push.after))
    try await hook(.push, .after)
    return answer
  }
}

/// The saved state of a store, which survives the store.
typealias Disk<Element: Differentiable & Sendable> = Shared<SynchronizationState<Element, Int>?>

/// A store in memory whose calls run a hook.
struct HookedStore<Element: Differentiable & Sendable>: SynchronizationStore {
  let disk: Disk<Element>
  /// A Boolean value that indicates whether the store loses pending pushes.
  var isForgetful = false
  let hook: CallHook

  init(
    _ disk: Disk<Element>, isForgetful: Bool = false, hook: @escaping CallHook = { _, _ in }
  ) {
    (self.disk, self.isForgetful, self.hook) = (disk, isForgetful, hook)
  }

  func load() async throws -> SynchronizationState<Element, Int>? {
    try await hook(.load, .before)
    let state = disk.value
    try await hook(.load, .after)
    return state
  }

  func save(_ state: SynchronizationState<Element, Int>) async throws {
    try await hook(.save, .before)
    var state = state
    if isForgetful { state.push = nil }
    disk.value = state
    try await hook(.save, .after)
  }
}

extension DataSource where Element == Letter {
  /// The contents as text, such as `A1 B`.
  var text: String { snapshot.text }
}

extension Snapshot<Letter> {
  var text: String { map(\.description).joined(separator: " ") }
}

/// A hook that performs an action once.
final class Trap: Sendable {
  private let armed = Shared<(Call, Moment, @Sendable () async throws -> Void)?>(nil)
  let trace = Log<String>([])

  /// Sets the action for the next call of a kind.
  func at(
    _ call: Call, _ moment: Moment, _ action: @escaping @Sendable () async throws -> Void
  ) {
    armed.value = (call, moment, action)
  }

  var hook: CallHook {
    { [self] call, moment in
      if moment == .before { trace.append(call.rawValue) }
      let due = armed.modify { armed -> (@Sendable () async throws -> Void)? in
        guard let (at, when, action) = armed, at == call, when == moment else { return nil }
        armed = nil
        return action
      }
      try await due?()
    }
  }
}

/// A client of a remote of letters, with its store and its hook.
struct Client {
  let trap = Trap()
  let disk: Disk<Letter>
  let session: SynchronizationSession<HookedRemote<Letter>>

  var contents: ArrayDataSource<Letter> { session.client }

  init(
    _ remote: InMemoryRemote<Letter>, disk: Disk<Letter> = Disk(nil),
    options: SynchronizationSession<HookedRemote<Letter>>.Options = .init()
  ) async throws {
    self.disk = disk
    session = try await SynchronizationSession(
      remote: HookedRemote(remote, hook: trap.hook), store: HookedStore(disk, hook: trap.hook),
      options: options)
    trap.trace.value = []
  }

  /// Creates a client whose contents equal the contents of the remote.
  static func inStep(
    _ text: String, _ remote: InMemoryRemote<Letter>,
    options: SynchronizationSession<HookedRemote<Letter>>.Options = .init()
  ) async throws -> Client {
    remote.contents.replace(with: Letter.list(text))
    let client = try await Client(remote, options: options)
    try await client.session.synchronize()
    client.trap.trace.value = []
    return client
  }

  /// Replaces the contents, and waits until they are saved.
  func edit(_ text: String) async throws {
    contents.replace(with: Letter.list(text))
    try await session.save()
  }
}
