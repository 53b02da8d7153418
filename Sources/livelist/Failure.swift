/// Why the program cannot go on, and the status that it ends with.
struct Failure: Error {
  let status: Int32
  /// What happened, where, and what would help.
  let message: String

  /// The command line cannot be understood.
  static func usage(_ message: String) -> Failure {
    Failure(status: 2, message: message)
  }

  /// What it needs cannot be had.
  static func input(_ message: String) -> Failure {
    Failure(status: 1, message: message)
  }
}
