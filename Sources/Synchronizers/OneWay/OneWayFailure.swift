/// One thing that went wrong in a one-way synchronisation.
public struct OneWayFailure: Sendable {
  /// The stage in which it did.
  public var stage: OneWayStage
  /// The key of the item, as text; nil where it was not about one.
  ///
  /// Where keys could not be removed it is the first of them, and how many more there are.
  public var key: String?
  /// The item; nil where it was not about one.
  public var item: (any Sendable)?
  /// The error that was thrown.
  public var cause: any Error

  /// Makes one.
  public init(
    stage: OneWayStage, key: String? = nil, item: (any Sendable)? = nil, cause: any Error
  ) {
    self.stage = stage
    self.key = key
    self.item = item
    self.cause = cause
  }
}

extension OneWayFailure: CustomStringConvertible {
  /// What went wrong, with which key, and why, on one line.
  public var description: String {
    let item = key ?? "an item"
    let what =
      switch stage {
      case .begin: "the run could not begin"
      case .fetch: "the source list could not be fetched"
      case .localKeys: "the local keys could not be read"
      case .remove: "\(item), which the source does not list any more, could not be removed"
      case .shouldUpdate: "it could not be told whether \(item) is to be updated"
      case .prepare: "the downloads could not be prepared"
      case .preview: "the preview of \(item) could not be downloaded"
      case .content: "the content of \(item) could not be downloaded"
      case .end: "the run could not be ended"
      }
    return "\(what): \(cause)".split(whereSeparator: \.isNewline).joined(separator: " ")
  }
}

/// Shows a key in a sentence: text quoted, and not much of a long one.
func shownKey(_ key: some Any) -> String {
  let longest = 60
  let scalars = String(describing: key).unicodeScalars
  let shown = String(String.UnicodeScalarView(scalars.prefix(longest)))
  let isText = key is String || key is ExactString
  let isQuoted = isText || scalars.contains { $0.properties.generalCategory == .control }
  return (isQuoted ? String(reflecting: shown) : shown) + (scalars.count > longest ? "…" : "")
}

/// Shows several keys in a sentence by one of them.
func shownKeys(_ keys: some Collection) -> String? {
  guard let first = keys.lazy.map({ shownKey($0) }).min() else { return nil }
  return keys.count == 1 ? first : "\(first) and \(keys.count - 1) more"
}
