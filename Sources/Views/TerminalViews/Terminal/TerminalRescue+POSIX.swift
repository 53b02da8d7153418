import Synchronization

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The restoration of the terminal when a signal of a fault ends the process, for example of a trap.
///
/// No code of the program runs after such a signal. Therefore, the signal handler itself restores the
/// terminal. Then the signal has its previous action, such as printing a backtrace.
enum TerminalRescue {
  /// The signals of faults. All others that end the process are received as ``TerminalSignals``.
  private static let signals = [
    SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS,
  ]

  /// Prepares for a fault. There can be one terminal at a time.
  static func arm(
    _ input: TerminalFile, _ output: TerminalFile, _ modes: TerminalModes,
    _ leaveSequence: StaticString
  ) {
    disarm()
    let rescue = UnsafeMutablePointer<Rescue>.allocate(capacity: 1)
    rescue.initialize(
      to: Rescue(
        input: input.descriptor, output: output.descriptor, modes: modes.value,
        sequence: leaveSequence))
    for number in signals {
      // Not an array: the handler must not allocate.
      _ = sigaction(number, nil, previousActions + Int(number))
      var action = sigaction()
      action.setHandler(restoreAndEnd)
      // The stack may have overflowed.
      action.sa_flags = numericCast(SA_ONSTACK)
      _ = sigaction(number, &action, nil)
    }
    armed.store(rescue, ordering: .sequentiallyConsistent)
  }

  static func disarm() {
    guard let rescue = armed.exchange(nil, ordering: .sequentiallyConsistent) else { return }
    for number in signals { _ = sigaction(number, previousActions + Int(number), nil) }
    rescue.deallocate()
  }
}

/// The values that the signal handler needs.
private struct Rescue {
  let input: Int32
  let output: Int32
  var modes: termios
  let sequence: StaticString
}

// The owner of the pointer is the one that exchanges it.
nonisolated(unsafe) private let armed = Atomic<UnsafeMutablePointer<Rescue>?>(nil)

/// The actions of signals before the terminal was taken, by the number of the signal.
// Written while no handler can run that reads it.
nonisolated(unsafe) private let previousActions = {
  let actions = UnsafeMutablePointer<sigaction>.allocate(capacity: 65)
  actions.initialize(repeating: sigaction(), count: 65)
  return actions
}()

/// Restores the terminal, and raises the signal with its previous action.
///
/// It calls only functions that are safe in a signal handler.
private func restoreAndEnd(_ number: Int32) {
  if let rescue = armed.exchange(nil, ordering: .relaxed) {
    let group = tcgetpgrp(rescue.pointee.input)
    // In the background, the terminal belongs to another program.
    if group < 0 || group == getpgrp() {
      _ = write(
        rescue.pointee.output, rescue.pointee.sequence.utf8Start,
        rescue.pointee.sequence.utf8CodeUnitCount)
      _ = tcsetattr(rescue.pointee.input, TCSANOW, &rescue.pointee.modes)
    }
  }
  _ = sigaction(number, previousActions + Int(number), nil)
  // The signal is delivered when this handler returns.
  raise(number)
}
