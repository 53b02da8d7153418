/// The objects of this process that all users of a key share. Only their users keep them alive.
package final class SharedObjects<Key: Hashable & Sendable, Object: AnyObject & Sendable>: Sendable
{
  private struct Weak: Sendable {
    weak let object: Object?
  }

  private let objects = Locked<[Key: Weak]>([:])

  package init() {}

  /// Returns the object of a key, or `nil` if it has no users.
  package subscript(key: Key) -> Object? { objects.withLock { $0[key]?.object } }

  /// Returns the object of a key.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - make: A closure that makes the object if it has no users. It must not call user code.
  package func object(for key: Key, make: () -> Object) -> Object {
    let (object, _) = objects.withLock { objects -> (Object, [Key: Object]) in
      if let object = objects[key]?.object { return (object, [:]) }
      // Drop released objects here, where the list grows. Return the others: this may be the last
      // reference to one of them, and an object must be released outside the lock.
      var living = objects.compactMapValues { $0.object }
      let object = make()
      living[key] = object
      objects = living.mapValues { Weak(object: $0) }
      return (object, living)
    }
    return object
  }
}
