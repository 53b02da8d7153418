/// The reloads of one view, one at a time.
///
/// A reload that is asked for while another one is under way, by what that one calls, waits until it is
/// done: batches do not nest, and the stages of one reload belong together.
@MainActor
final class ReloadTurn {
  typealias Work = @MainActor (_ turn: ReloadTurn, _ hasWaited: Bool) -> Void

  /// The turns under way. Each lasts no longer than the call that began it, which holds the view.
  private static var open: [ObjectIdentifier: ReloadTurn] = [:]

  private var waiting: [Work] = []
  private var afterwards: [@MainActor () -> Void] = []

  private init() {}

  /// Does some work on a view now, or where one is under way behind it.
  static func take(on view: AnyObject, _ work: @escaping Work) {
    let key = ObjectIdentifier(view)
    if let turn = open[key] { return turn.waiting.append(work) }
    let turn = ReloadTurn()
    open[key] = turn
    work(turn, false)
    while !turn.waiting.isEmpty { turn.waiting.removeFirst()(turn, true) }
    open[key] = nil
    for action in turn.afterwards { action() }
  }

  /// Does something when the view is free again.
  func afterwards(_ action: @escaping @MainActor () -> Void) {
    afterwards.append(action)
  }
}
