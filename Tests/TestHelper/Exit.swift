import Foundation

/// Ends the process with `status`, everything printed.
func exitHelper(_ status: Int32) -> Never {
  exit(status)
}

/// Prints one line and hands it to whoever reads at once.
func answer(_ line: String) {
  print(line)
  fflush(nil)
}
