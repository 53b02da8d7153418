/// A step of a one-way synchronisation; they are taken in this order.
public enum OneWayStage: String, Sendable, Hashable, CaseIterable {
  /// The run begins.
  case begin
  /// The source list is fetched.
  case fetch
  /// The local keys are read.
  case localKeys
  /// What the source does not list any more is removed. Left out if that is nothing.
  case remove
  /// What is on both sides is asked about, one after the other. Left out if that is nothing.
  case shouldUpdate
  /// It is decided what is downloaded.
  case prepare
  /// The previews are downloaded. Left out if not asked for, or if there are none.
  case preview
  /// The contents are downloaded. Left out if not asked for, or if there are none.
  case content
  /// The run ends. Each run that begins comes to this stage.
  case end
}
