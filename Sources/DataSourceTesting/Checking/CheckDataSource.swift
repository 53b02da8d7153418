public import ObservableCollections

/// Checks that a data source keeps the event contract.
///
///     try await checkDataSource(
///       makeSource: { JSONFileDataSource<Row>(path) },
///       mutate: { _, random in try write(randomRows(&random), to: path) },
///       expected: { _ in try readRows(path) })
///
/// It checks the events that its observers get, early and late ones, immediate and scheduled (E1 to E7,
/// C, T3), that it can be swapped into a container and out of it (S), what its status says (E6, E7),
/// and that observations keep it alive and nothing else does (L1, L3).
///
/// - Parameters:
///   - seeds: The runs.
///   - steps: How many times the truth is changed in each part of a run.
///   - timeout: How long the source may take to notice a change.
///   - makeSource: Makes a source over the truth as it is; several may live at a time. What it returns
///     must not be kept.
///   - mutate: Changes the truth behind a source, at random.
///   - expected: The truth: what a source must hold in the end.
///   - spoil: Makes the truth unreadable, or takes it away; nil where that cannot be.
///   - repair: Makes it readable again.
/// - Throws: ``ContractViolation`` with rule, seed and step; what the closures throw.
public func checkDataSource<Source: DataSource>(
  seeds: some Sequence<UInt64> = 1...3, steps: Int = 12, timeout: Duration = .seconds(60),
  makeSource: @escaping @Sendable () async throws -> Source,
  mutate: @escaping @Sendable (Source, inout SeededGenerator) async throws -> Void,
  expected: @escaping @Sendable (Source) async throws -> [Source.Element],
  spoil: (@Sendable (Source) async throws -> Void)? = nil,
  repair: (@Sendable (Source) async throws -> Void)? = nil
) async throws {
  for seed in seeds {
    var check = DataSourceCheck(
      seed: seed, steps: steps, timeout: timeout, makeSource: makeSource, mutate: mutate,
      expected: expected)
    try await check.checkEvents()
    try await check.checkSwapping()
    try await check.checkLifetime()
    if let spoil, let repair { try await check.checkFailing(spoil, repair) }
  }
}
