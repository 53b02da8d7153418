/// Two versions of a list, to be compared.
public struct Workload<Element>: Sendable {
  /// What it is called in tables, such as `W4f`.
  public let name: String
  /// What the versions are, in a few words.
  public let summary: String
  /// Where it stands among all workloads.
  public let rank: Int
  /// Makes the versions; the same ones in each run.
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
