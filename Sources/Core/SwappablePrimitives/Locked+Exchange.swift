extension Locked {
  /// Replaces the value, and returns the previous one, which is then released outside the lock.
  package borrowing func exchange(_ new: State) -> State {
    withLock { state in
      defer { state = new }
      return state
    }
  }
}
