package import Dispatch

/// The queues on which files are watched and read.
package enum WatchQueue {
  /// Makes a serial queue.
  ///
  /// A queue without a target may get a thread of its own whenever it has something to do: a thousand
  /// of them that are told at once would take all threads that a process may have. Those of one target
  /// get as many as there are processors, and more when these are blocked.
  package static func make(_ label: String) -> DispatchQueue {
    DispatchQueue(label: label, target: .global(qos: .userInitiated))
  }
}
