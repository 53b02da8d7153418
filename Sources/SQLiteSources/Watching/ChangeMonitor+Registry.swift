import SwappablePrimitives

extension ChangeMonitor {
  /// The databases that have a monitor, each kept only by those who use it.
  private struct Registry: Sendable {
    var monitors: [Key: Weak] = [:]
  }

  /// By the path and not by the file: a path whose symbolic link is turned elsewhere must take
  /// along only those who named it by that path.
  private enum Key: Sendable, Hashable {
    /// Its bytes: two strings that are equal may be the paths of two files.
    case path([UInt8])
    case memory(ObjectIdentifier)

    init(path: String) { self = .path(Array(path.utf8)) }
  }

  private struct Weak: Sendable {
    weak let monitor: ChangeMonitor?
  }

  private static let registry = Locked(Registry())

  /// The monitor of the database at `path`, an absolute one.
  static func shared(path: String) -> ChangeMonitor {
    shared(Key(path: path)) { ChangeMonitor(reader: DatabaseReader(path: path)) }
  }

  /// The monitor of the database of `connection`.
  static func shared(connection: SQLiteConnection) -> ChangeMonitor {
    if let path = connection.path { return shared(path: path) }
    // The monitor keeps the connection, so that no other can be taken for it.
    return shared(.memory(ObjectIdentifier(connection))) {
      ChangeMonitor(reader: DatabaseReader(memory: connection))
    }
  }

  /// The monitor of the database of `connection`, where anybody uses one.
  static func existing(for connection: SQLiteConnection) -> ChangeMonitor? {
    let key = connection.path.map(Key.init(path:)) ?? .memory(ObjectIdentifier(connection))
    return registry.withLock { $0.monitors[key]?.monitor }
  }

  private static func shared(_ key: Key, make: () -> ChangeMonitor) -> ChangeMonitor {
    let (monitor, _) = registry.withLock { registry -> (ChangeMonitor, [Key: ChangeMonitor]) in
      if let monitor = registry.monitors[key]?.monitor { return (monitor, [:]) }
      // Those that are gone are dropped here, where the list grows. The others go with the lock left:
      // whoever else kept one may have let go of it meanwhile.
      var living = registry.monitors.compactMapValues { $0.monitor }
      // Making one opens nothing.
      let monitor = make()
      living[key] = monitor
      registry.monitors = living.mapValues { Weak(monitor: $0) }
      return (monitor, living)
    }
    return monitor
  }
}
