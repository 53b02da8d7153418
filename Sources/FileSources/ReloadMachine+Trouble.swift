import FileWatching
import ObservableCollections

extension FileFailure {
  func trouble(path: String) -> ReloadMachine.Trouble {
    let (code, help): (String, String) =
      switch cause {
      case .missing: ("file-missing", "it is read as soon as it appears")
      case .denied: ("file-denied", "let this process read it")
      case .loop: ("file-loop", "mend the symbolic links on the way to it")
      case .isDirectory, .isSpecial: ("file-not-regular", "")
      case .limit: ("file-limit", "raise the system's limit, or open fewer files")
      case .unstable: ("file-unstable", "it is read again when its writer rests")
      case .other: ("file-unreadable", "it is tried again every second")
      }
    let error = SourceError(
      code: code, message: description + (help.isEmpty ? "" : "; " + help), underlying: self)
    let retries = cause == .limit || cause == .unstable || cause == .other
    return ReloadMachine.Trouble(
      state: cause == .missing ? .missing(error) : .failed(error),
      isTransient: cause == .unstable, needsRetry: retries)
  }
}

extension JSONError {
  func trouble(path: String) -> ReloadMachine.Trouble {
    ReloadMachine.Trouble(
      state: .failed(
        SourceError(
          code: "json-\(code.rawValue)", message: "cannot read \(path): \(self)",
          underlying: self)),
      isTransient: true, needsRetry: false)
  }
}
