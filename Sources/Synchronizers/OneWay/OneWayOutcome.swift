public import ObservableCollections

/// What a successful one-way synchronisation has done.
public struct OneWayOutcome: Sendable, Hashable {
  /// How many items the source lists, each key once.
  public var listed: Int
  /// How many local keys were removed, since the source does not list them.
  public var removed: Int
  /// How many listed items were not here.
  public var new: Int
  /// How many items were here and are to be updated.
  public var outdated: Int
  /// How many previews were downloaded.
  public var previews: Int
  /// How many contents were downloaded.
  public var contents: Int
  /// Remarks: that the source lists a key twice, for example.
  public var diagnostics: [SourceDiagnostic]

  /// Makes one.
  public init(
    listed: Int = 0, removed: Int = 0, new: Int = 0, outdated: Int = 0, previews: Int = 0,
    contents: Int = 0, diagnostics: [SourceDiagnostic] = []
  ) {
    self.listed = listed
    self.removed = removed
    self.new = new
    self.outdated = outdated
    self.previews = previews
    self.contents = contents
    self.diagnostics = diagnostics
  }
}
