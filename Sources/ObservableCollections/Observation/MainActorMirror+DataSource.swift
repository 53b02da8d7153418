public import Diffing
public import ReactiveSignals

extension MainActorMirror {
  /// Makes one that follows the contents of a collection.
  ///
  ///     let tasks = MainActorMirror(container)
  ///     var body: some View { List(tasks.value) { … } }
  ///
  /// - Parameter source: What it follows; attaching starts an idle one.
  /// - Complexity: O(1) for each event; no difference is computed.
  public convenience init<Element: Differentiable & Sendable>(
    _ source: any DataSource<Element>
  ) where Value == Snapshot<Element> {
    self.init(source.collection.node.current.snapshot) { scheduler, handler in
      source.observeSnapshots(on: scheduler, handler)
    }
  }
}
