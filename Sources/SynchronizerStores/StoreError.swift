import Foundation

/// Why a store cannot read or keep what it should.
///
/// Its description is one line: what happened, where, and what would help.
public struct StoreError: Error, Sendable {
  /// The kind of failure.
  public enum Code: String, Sendable, Hashable {
    /// The file, or a folder on the way to it, is not there.
    case missing
    /// The process may not do this, or the file system is read-only.
    case denied
    /// No room is left.
    case full
    /// There is something else where a folder is needed.
    case notAFolder
    /// There is something else where a plain file is needed.
    case notAFile
    /// The system could not read or write.
    case inputOutput
    /// What was saved was damaged since.
    case damaged
    /// The file, or the table, is not one of this store's.
    case foreign
    /// A newer version of the store has written it.
    case newer
    /// It is not damaged, but holds elements of another type.
    case undecodable
    /// An element could not be encoded.
    case unencodable
    /// Another store has it open.
    case inUse
    /// Something is there that this store has not loaded.
    case notLoaded
    /// Another store has saved since this one did.
    case overtaken
    /// SQLite could not do it; the underlying error tells.
    case database
  }

  /// The kind of failure.
  public var code: Code
  /// What happened.
  public var message: String
  /// The path of the file, folder or database.
  public var path: String?
  /// Where in it; nil where that is not known.
  public var place: String?
  /// What would help.
  public var help: String
  /// The error that caused it.
  public var underlying: (any Error)?

  init(
    _ code: Code, _ message: String, path: String?, place: String? = nil, help: String,
    underlying: (any Error)? = nil
  ) {
    self.code = code
    self.message = message
    self.path = path
    self.place = place
    self.help = help
    self.underlying = underlying
  }
}

extension StoreError: CustomStringConvertible {
  /// What happened, where, and what would help, on one line.
  public var description: String {
    var text = message
    if let path { text += ": \(path)" }
    if let place { text += ", \(place)" }
    if let underlying { text += " (\(underlying))" }
    return (text + "; " + help).split(whereSeparator: \.isNewline).joined(separator: " ")
  }
}

extension StoreError {
  /// Tells what the system refused.
  ///
  /// - Parameters:
  ///   - number: `errno`, read before anything else could set it.
  ///   - operation: What was attempted, as in "cannot *open*".
  ///   - path: With what.
  init(_ number: Int32, cannot operation: String, _ path: String) {
    let (code, help): (Code, String) =
      switch number {
      case ENOENT: (.missing, "check the path, or make the folder first")
      case EACCES, EPERM, EROFS: (.denied, "check who may write there")
      case ENOSPC, EDQUOT, EFBIG: (.full, "make room on the disk; what was saved is as it was")
      case ENOTDIR, EEXIST: (.notAFolder, "give the path of a folder")
      case EISDIR: (.notAFile, "give the path of a file, or remove the folder that is there")
      case ELOOP: (.notAFile, "remove the symbolic link that is there")
      case ENAMETOOLONG: (.inputOutput, "choose a shorter name")
      case EMFILE, ENFILE: (.inputOutput, "close files, or raise the limit on open ones")
      default: (.inputOutput, "check the disk, and try again; what was saved is as it was")
      }
    self.init(
      code, "cannot \(operation)", path: path, help: help,
      underlying: POSIXError.Code(rawValue: number).map { SystemReason(number: $0.rawValue) })
  }
}

/// The system's own words.
private struct SystemReason: Error, CustomStringConvertible {
  var number: Int32
  var description: String { String(cString: strerror(number)) }
}
