import Foundation

/// An error of a store.
///
/// Its description is one line that says what happened, where, and how to proceed.
public struct StoreError: Error, Sendable {
  /// The kind of an error.
  public enum Code: String, Sendable, Hashable {
    /// The file or one of its folders does not exist.
    case missing
    /// The process lacks permission, or the file system is read-only.
    case denied
    /// The disk is full.
    case full
    /// The path does not lead to a folder.
    case notAFolder
    /// The path does not lead to a regular file.
    case notAFile
    /// The system failed to read or write.
    case inputOutput
    /// The saved contents are damaged.
    case damaged
    /// The file, table or index belongs to another program or another type of store.
    case foreign
    /// A file cannot have this name.
    case invalidName
    /// A newer version of the store wrote the contents.
    case newer
    /// The contents are intact, but have elements of another type.
    case undecodable
    /// An element, a version, a key or a stamp cannot be encoded.
    case unencodable
    /// Another store is using the file, folder or database.
    case inUse
    /// Saving would overwrite a state that this store has not loaded.
    case notLoaded
    /// Another store has saved or removed the state.
    case overtaken
    /// SQLite failed. See the underlying error.
    case database
  }

  /// The kind of the error.
  public let code: Code
  /// A text that says what happened.
  public let message: String
  /// The path of the file, folder or database.
  public let path: String?
  /// The place in the file or database, or `nil` if it is unknown.
  public let place: String?
  /// A text that says how to proceed.
  public let help: String
  /// The error that caused it.
  public let underlying: (any Error)?

  init(
    _ code: Code, _ message: String, path: String?, place: String? = nil, help: String,
    underlying: (any Error)? = nil
  ) {
    (self.code, self.message, self.path, self.place) = (code, message, path, place)
    (self.help, self.underlying) = (help, underlying)
  }
}

extension StoreError: CustomStringConvertible {
  /// A line that says what happened, where, and how to proceed.
  public var description: String {
    var text = message
    if let path { text += ": \(path)" }
    if let place { text += ", \(place)" }
    if let underlying { text += " (\(underlying))" }
    return (text + "; " + help).split(whereSeparator: \.isNewline).joined(separator: " ")
  }
}

extension StoreError {
  /// Creates an error from an error number of the system.
  ///
  /// - Parameters:
  ///   - number: The value of `errno`.
  ///   - operation: The failed operation, as in "cannot *open*".
  ///   - path: The path of the file or folder.
  init(_ number: Int32, cannot operation: String, _ path: String) {
    let (code, help): (Code, String) =
      switch number {
      case ENOENT: (.missing, "check the path, or create the folder first")
      case EACCES, EPERM, EROFS: (.denied, "check the permissions")
      case ENOSPC, EDQUOT, EFBIG:
        (.full, "free space on the disk; the saved contents are unchanged")
      case ENOTDIR, EEXIST: (.notAFolder, "use the path of a folder")
      case EISDIR: (.notAFile, "use the path of a file, or remove the folder")
      case ELOOP: (.notAFile, "remove the symbolic link")
      case ENAMETOOLONG: (.invalidName, "choose a shorter name")
      case EILSEQ: (.invalidName, "choose another name")
      case EXDEV: (.inputOutput, "use a state folder on the same file system")
      case EMFILE, ENFILE: (.inputOutput, "close files, or raise the limit of open files")
      default: (.inputOutput, "check the disk, and try again; the saved contents are unchanged")
      }
    self.init(
      code, "cannot \(operation)", path: path, help: help,
      underlying: POSIXError.Code(rawValue: number).map { SystemReason(number: $0.rawValue) })
  }
}

/// The error message of the system.
private struct SystemReason: Error, CustomStringConvertible {
  var number: Int32
  var description: String { String(cString: strerror(number)) }
}
