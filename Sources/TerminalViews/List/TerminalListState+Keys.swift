extension TerminalListState.Command {
  /// The command of a key that moves in a list: an arrow, page up or down, home or end; nil for others.
  public init?(_ key: TerminalKey) {
    switch key {
    case .up: self = .up
    case .down: self = .down
    case .pageUp: self = .pageUp
    case .pageDown: self = .pageDown
    case .home: self = .home
    case .end: self = .end
    case .left: self = .left
    case .right: self = .right
    default: return nil
    }
  }
}
