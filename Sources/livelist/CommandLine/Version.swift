extension Livelist {
  /// The version of the tool, which `--version` prints.
  static let version = "0.2.0"
}
