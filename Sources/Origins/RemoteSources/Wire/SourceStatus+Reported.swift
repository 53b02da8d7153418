package import ObservableCollections

extension SourceStatus {
  /// Creates the status that a line reports for contents that have loaded.
  package init(reported state: String, _ message: String?) {
    let error = SourceError(
      code: "reported", message: message ?? "the source reports the state \(state)")
    switch state {
    case "failed": self = .failed(error)
    case "missing": self = .missing(error)
    default: self = .loaded
    }
  }
}
