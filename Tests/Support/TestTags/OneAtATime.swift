#if os(Linux)
  import Glibc

  /// Makes `swift test` run one test at a time, as `Tests/run` does, because many tests block threads, count the descriptors
  /// of their process, or need the main actor.
  ///
  /// A package cannot set options of `swift test`, so the loader of the program calls this before the tests begin. Set the
  /// variable to another number to run more tests at once.
  @section(".init_array") @used
  private let runOneTestAtATime: @convention(c) () -> Void = {
    setenv("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", "1", 0)
  }
#endif
