/// Two versions of a list.
public struct Workload<Element>: Sendable {
  /// The name in tables, such as `W4f`.
  public let name: String
  /// A short description of the versions.
  public let summary: String
  /// The position among all workloads.
  public let rank: Int
  /// Creates the versions, which are the same in each run.
  public let make: @Sendable () -> (old: [Element], new: [Element])

  init(
    _ rank: Int, _ name: String, _ summary: String,
    make: @escaping @Sendable () -> (old: [Element], new: [Element])
  ) {
    self.name = name
    self.summary = summary
    self.rank = rank
    self.make = make
  }
}
