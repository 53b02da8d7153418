package import Testing

extension Tag {
  /// Tests that start processes, servers or terminals. If one fails, it runs once more, alone.
  @Tag package static var system: Self
  /// Tests that start threads, queues or tasks. They also run under the thread sanitizer.
  ///
  /// Without it are tests of processes and servers, guides, tests that count the memory of their process, and tests that
  /// use tasks only to compute on all cores.
  @Tag package static var concurrency: Self
}
