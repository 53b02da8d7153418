import DataSourceTesting
import Diffing
import ObservableCollections
import Synchronizers
import Testing
import TestSupport

/// Tests of a process that ends at each point of a synchronization and restarts.
@Suite(.timeLimit(.minutes(10))) struct SessionRestartTests {
  /// An event between two processes.
  enum Meanwhile: CaseIterable {
    case nothing, pushedIsDeleted, pushedIsEdited, otherIsAdded, clientEdits
  }

  private struct PowerCut: Error {}

  /// Synchronizes a client in a process that ends at a call.
  ///
  /// - Parameters:
  ///   - end: The number of moments of calls before the end.
  ///   - edits: The edits before the synchronization, which are saved first.
  /// - Returns: A Boolean value that indicates whether the process ended.
  private func process(
    _ remote: InMemoryRemote<Letter>, _ disk: Disk<Letter>, endsAfter end: Int,
    edits: (ArrayDataSource<Letter>) -> Void
  ) async throws -> Bool {
    let (count, isOver, isCounting) = (Shared(0), Shared(false), Shared(false))
    let hook: CallHook = { _, _ in
      if isOver.value { throw PowerCut() }
      guard isCounting.value else { return }
      if count.modify({ count in
        defer { count += 1 }
        return count == end
      }) {
        isOver.value = true
        throw PowerCut()
      }
    }
    let session = try await SynchronizationSession(
      remote: HookedRemote(remote, hook: hook), store: HookedStore(disk, hook: hook))
    edits(session.client)
    try await session.save()
    isCounting.value = true
    _ = try? await session.synchronize()
    try? await session.save()
    isOver.value = true
    return count.value > end
  }

  @Test(arguments: Meanwhile.allCases)
  func `a restart anywhere loses no edit and repeats none`(meanwhile: Meanwhile) async throws {
    var points = 0
    // Let each of the first two processes end at each point.
    for first in 0... {
      var hasEnded = false
      for second in 0... {
        let remote = InMemoryRemote(Letter.list("A B C"))
        let disk = Disk<Letter>(nil)
        _ = try await process(remote, disk, endsAfter: .max) { _ in }
        remote.contents.update(identifiedBy: "A") { $0.content = "1" }
        // Mine adds X, edits B and deletes C. Theirs edits A.
        hasEnded = try await process(remote, disk, endsAfter: first) {
          $0.replace(with: Letter.list("A X B2"))
        }
        let hasArrived = remote.contents.firstIndex("X") != nil
        switch meanwhile {
        case .nothing, .clientEdits: break
        case .pushedIsDeleted: remote.contents.remove(identifiedBy: "X")
        case .pushedIsEdited: remote.contents.update(identifiedBy: "X") { $0.content = "5" }
        case .otherIsAdded: remote.contents.append(Letter(key: "Y", content: ""))
        }
        let secondHasEnded = try await process(remote, disk, endsAfter: second) { client in
          guard meanwhile == .clientEdits else { return }
          client.update(identifiedBy: "X") { $0.content = "7" }
          client.remove(identifiedBy: "B")
        }
        _ = try await process(remote, disk, endsAfter: .max) { _ in }
        let session = try await SynchronizationSession(remote: remote, store: HookedStore(disk))
        let expected =
          switch meanwhile {
          case .nothing: "A1 X B2"
          case .pushedIsDeleted: hasArrived ? "A1 B2" : "A1 X B2"
          case .pushedIsEdited: hasArrived ? "A1 X5 B2" : "A1 X B2"
          case .otherIsAdded: "A1 X B2 Y"
          case .clientEdits: "A1 X7"
          }
        let place = "\(meanwhile) \(first) \(second)"
        #expect(remote.contents.text == expected, "\(place)")
        #expect(session.client.text == expected, "\(place)")
        #expect(session.shadow.text == expected, "\(place)")
        #expect(disk.value?.push == nil, "\(place)")
        points += 1
        if !secondHasEnded { break }
      }
      if !hasEnded { break }
    }
    // The calls are fetch, save, push and save. Each has two moments, and one process does not end.
    #expect(points >= 9 * 3)
  }
}

extension DataSource where Element == Letter {
  func firstIndex(_ key: Character) -> Int? { snapshot.firstIndex(identifiedBy: key) }
}
