import Observation

/// What stands for contents of any type with the Observation framework.
///
/// It is not generic, as its key path would then be made anew for each reading.
package final class TrackedContents: Observable, Sendable {
  private let registrar = ObservationRegistrar()

  package init() {}

  private var contents: Void { () }

  /// Notes a reading, where one is tracked on this thread.
  package func access() {
    registrar.access(self, keyPath: \.contents)
  }

  /// Makes a change, and tells those who have read.
  package func mutate(_ change: () -> Void) {
    registrar.withMutation(of: self, keyPath: \.contents, change)
  }
}
