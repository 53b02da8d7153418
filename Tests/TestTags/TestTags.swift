package import Testing

extension Tag {
  /// Tests that start processes, servers or terminals. If one fails, it runs once more, alone.
  @Tag package static var system: Self
  /// Tests that start threads, queues or tasks. They also run under the thread sanitizer.
  @Tag package static var concurrency: Self
}
