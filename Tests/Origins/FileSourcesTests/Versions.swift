import FileWatching

@testable import FileSources

extension FileDifference {
  /// Creates the difference of two versions of a file.
  ///
  /// - Parameter isWhole: A Boolean value that indicates whether the difference contains all bytes, as if
  ///   much of the file differs.
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
  /// Returns the next version of a document.
  func next(_ bytes: [UInt8], isWhole: Bool) throws(JSONElement.ParsingError) -> JSONDocument {
    var next = self
    if let edit = try edit(for: .init(from: self.bytes, to: bytes, isWhole: isWhole)) {
      next.apply(edit)
    }
    return next
  }
}
