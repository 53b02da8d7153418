import FileWatching

@testable import FileSources

extension FileDifference {
  /// What reading a file tells of two versions of it.
  ///
  /// - Parameter isWhole: Whether all of it is told, as it is where much differs.
  init(from old: [UInt8], to new: [UInt8], isWhole: Bool) {
    if old == new {
      self = .same
    } else if isWhole {
      self = .whole(new)
    } else {
      var prefix = 0
      let limit = min(old.count, new.count)
      while prefix < limit, old[prefix] == new[prefix] { prefix += 1 }
      var suffix = 0
      while suffix < limit - prefix, old[old.count - suffix - 1] == new[new.count - suffix - 1] {
        suffix += 1
      }
      self = .between(
        prefix: prefix, suffix: suffix, Array(new[prefix..<(new.count - suffix)]))
    }
  }
}

extension JSONDocument {
  /// The next version of a text.
  func next(_ bytes: [UInt8], isWhole: Bool) throws(JSONError) -> JSONDocument {
    var next = self
    if let edit = try edit(for: .init(from: self.bytes, to: bytes, isWhole: isWhole)) {
      next.apply(edit)
    }
    return next
  }
}
