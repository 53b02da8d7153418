public import ObservableCollections

/// How far a one-way synchronisation has come.
///
/// Each stage begins at 0 of its total, and comes to its total if it is not broken off.
public struct OneWayProgress: Sendable, Hashable {
  /// The stage of the present run, or the one that the last run came to; nil before the first run.
  public var stage: OneWayStage?
  /// How much of the stage has been done, or tried in vain.
  public var done: Int
  /// How much there is to do in the stage.
  ///
  /// Keys to be removed, items to be asked about, downloads; 1 where it is one thing.
  public var total: Int
  /// How many downloads of the run have failed so far.
  public var failed: Int
  /// Remarks on the present or the last run: that the source lists a key twice, for example.
  public var diagnostics: [SourceDiagnostic]

  /// Makes one.
  public init(
    stage: OneWayStage? = nil, done: Int = 0, total: Int = 0, failed: Int = 0,
    diagnostics: [SourceDiagnostic] = []
  ) {
    self.stage = stage
    self.done = done
    self.total = total
    self.failed = failed
    self.diagnostics = diagnostics
  }
}
