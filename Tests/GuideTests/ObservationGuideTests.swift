import Observation
import ObservableCollections
import ReactiveSignals
import TestSupport
import Testing

#if canImport(Combine)
  import Combine
#endif

/// The code of the guide "Observation and Combine".
@Suite(.timeLimit(.minutes(10))) struct ObservationGuideTests {
  @Test func `the code of the guide is the code that runs here`() throws {
    let guide = try Guide("Observation")
    #expect(guide.code.count == 4)
    #expect(try guide.paragraphs(missingIn: #filePath) == [])
  }

  @Test func `a change of a tracked list is reported`() {
    let log = Log<String>([])
    @Sendable func print(_ text: String) { log.append(text) }
    let title = Property("Groceries")
    let tasks = ArrayDataSource(["Milk", "Bread"])
    withObservationTracking {
      print("\(title.value): \(tasks.count)")
    } onChange: {
      print("something has changed")
    }
    tasks.append("Tea")
    #expect(log.value == ["Groceries: 2", "something has changed"])
  }

  @Test @MainActor func `a mirror on the main actor follows a list`() async {
    let tasks = ArrayDataSource(["Milk", "Bread"])
    let shown = MainActorState(tasks)
    await withCheckedContinuation { changed in
      withObservationTracking {
        _ = shown.value
      } onChange: {
        changed.resume()
      }
      tasks.append("Tea")
    }
    await Task { @MainActor in }.value
    #expect(Array(shown.value) == ["Milk", "Bread", "Tea"])
  }

  @Test @MainActor func `the state of a status follows the status`() async {
    let tasks = ArrayDataSource<String>(status: .loading)
    let bag = DisposeBag()
    let progress = Property(tasks.status)
    tasks.observeStatus { progress.value = $0 }.store(in: bag)
    let status = MainActorState(progress)
    #expect(status.value == .loading)
    await withCheckedContinuation { changed in
      withObservationTracking {
        _ = status.value
      } onChange: {
        changed.resume()
      }
      tasks.publish(["Milk"], status: .loaded)
    }
    await Task { @MainActor in }.value
    #expect(status.value == .loaded)
    bag.dispose()
  }

  #if canImport(Combine)
    @Test func `a publisher sends the values of a property`() {
      let log = Log<String>([])
      func print(_ text: String) { log.append(text) }
      let title = Property("Groceries")
      let label = title.publisher().map(\.localizedUppercase).sink { print($0) }
      title.value = "Tools"
      #expect(log.value == ["GROCERIES", "TOOLS"])
      label.cancel()
    }
  #endif
}
