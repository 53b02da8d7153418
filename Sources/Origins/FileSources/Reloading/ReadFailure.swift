import FileWatching
import ObservableCollections
import SwappablePrimitives

/// The reason why a read returned no contents.
struct ReadFailure: Error, Hashable {
  /// The status, which is failed or missing.
  var state: SourceStatus.State
  /// A Boolean value that indicates whether the failure may come from a save in progress.
  var isTransient: Bool
  /// A Boolean value that indicates whether the failure may end without a change of the file.
  var needsRetry: Bool
}

extension ReadFailure {
  /// Creates the failure for a file that cannot be read.
  init(_ error: FileError) {
    let (code, help): (String, String) =
      switch error.cause {
      case .missing: ("file-missing", "check the path, or create the file")
      case .denied: ("file-denied", "let this process read it")
      case .loop: ("file-loop", "repair the symbolic links on its path")
      case .isDirectory, .isSpecial: ("file-not-regular", "")
      case .limit: ("file-limit", "raise the system's limit, or open fewer files")
      case .unstable: ("file-unstable", "wait until its writer pauses")
      case .other: ("file-unreadable", "check the disk and the permissions")
      }
    let message = help.isEmpty ? error.description : "\(error); \(help)"
    let source = SourceError(code: code, message: message, underlying: error)
    state = error.cause == .missing ? .missing(source) : .failed(source)
    isTransient = error.cause == .unstable
    needsRetry = [.limit, .unstable, .other].contains(error.cause)
  }

  /// Creates the failure for a file whose text is not valid.
  ///
  /// - Parameters:
  ///   - error: The error.
  ///   - path: The path of the file.
  ///   - format: The first part of the code.
  init(_ error: JSONElement.ParsingError, path: ByteString, format: String = "json") {
    state = .failed(
      SourceError(
        code: "\(format)-\(error.code.rawValue)", message: "cannot read \(path): \(error)",
        underlying: error))
    isTransient = true
    needsRetry = false
  }
}
