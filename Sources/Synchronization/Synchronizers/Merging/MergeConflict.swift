import ChangeDescriptions
public import Diffing
import ObservableCollections

/// Changes of two sides to one element that exclude each other.
public struct MergeConflict<Element: Differentiable & Sendable>: Sendable {
  /// The kind of a conflict.
  public enum Kind: Sendable, Hashable {
    /// Both sides edited the element, differently.
    case edited
    /// Both sides added the element, with different contents.
    case added
    /// The side `mine` deleted the element, and the side `theirs` edited it.
    case deletedByMine
    /// The side `theirs` deleted the element, and the side `mine` edited it.
    case deletedByTheirs
    /// Both sides moved the element, to different places.
    ///
    /// If both sides have sorted the list, there can be such a conflict for nearly each element.
    case moved
  }

  /// The decision about a conflict.
  public enum Resolution: Sendable {
    /// The change by `mine` wins.
    case mine
    /// The change by `theirs` wins.
    case theirs
    /// Both sides get this content instead.
    ///
    /// The content must have the identity of the element. For a conflict of the kind `moved`, this
    /// resolution means `theirs`, because two places cannot be merged.
    case merged(Element)
  }

  /// A rule that lets one side win every conflict.
  public enum Preference: String, Sendable, Hashable, CaseIterable {
    /// The changes by `mine` win, but an edit by `theirs` survives a deletion by `mine`.
    ///
    /// If a deletion by `mine` is to win, too, use a closure that always returns `.mine`.
    case mine
    /// The changes by `theirs` win, and an edit by `theirs` survives a deletion by `mine`.
    case theirs

    /// Returns the resolution of a conflict under this rule.
    public func resolution(of conflict: MergeConflict) -> Resolution {
      switch (self, conflict.kind) {
      case (.theirs, _), (.mine, .deletedByMine): .theirs
      case (.mine, _): .mine
      }
    }
  }

  /// A conflict together with its resolution.
  public struct Resolved: Sendable {
    /// The conflict.
    public let conflict: MergeConflict
    /// The resolution of the conflict.
    public let resolution: Resolution
  }

  /// The kind of the conflict.
  public let kind: Kind
  /// The element in the base, or `nil` if both sides added it.
  public let base: Element?
  /// The element on the side `mine`, or `nil` if that side deleted it.
  public let mine: Element?
  /// The element on the side `theirs`, or `nil` if that side deleted it.
  public let theirs: Element?

  /// Creates a conflict. Use it to test a closure that resolves conflicts.
  ///
  /// - Parameters:
  ///   - kind: The kind of the conflict.
  ///   - base: The element in the base, or `nil` if both sides added it.
  ///   - mine: The element on the side `mine`, or `nil` if that side deleted it.
  ///   - theirs: The element on the side `theirs`, or `nil` if that side deleted it.
  public init(kind: Kind, base: Element?, mine: Element?, theirs: Element?) {
    (self.kind, self.base, self.mine, self.theirs) = (kind, base, mine, theirs)
  }
}

/// The resolutions of earlier conflicts, found by the identity of the element.
///
/// If the remote moves on during a synchronization, the session merges again. It takes known
/// resolutions from here, because the resolver must be asked only once about the same conflict.
struct KnownResolutions<Element: Differentiable & Sendable> {
  /// A conflict within one merge, without the contents of its elements.
  struct Question: Hashable {
    let kind: MergeConflict<Element>.Kind
    let identity: Element.DifferenceIdentifier?
    /// The number of the conflict among those of its kind and identity.
    var number = 0

    init(_ conflict: MergeConflict<Element>) {
      (kind, identity) = (conflict.kind, KnownResolutions.identity(of: conflict))
    }
  }

  private let conflicts: [Element.DifferenceIdentifier: [MergeConflict<Element>.Resolved]]

  init(_ conflicts: [MergeConflict<Element>.Resolved]) {
    var byIdentity: [Element.DifferenceIdentifier: [MergeConflict<Element>.Resolved]] = [:]
    for resolved in conflicts {
      guard let identity = Self.identity(of: resolved.conflict) else { continue }
      byIdentity[identity, default: []].append(resolved)
    }
    self.conflicts = byIdentity
  }

  /// Returns the resolution of an equal conflict, or `nil` if the conflict is new.
  func resolution(of conflict: MergeConflict<Element>) -> MergeConflict<Element>.Resolution? {
    guard !conflicts.isEmpty, let identity = Self.identity(of: conflict) else { return nil }
    return conflicts[identity]?.first { known in
      known.conflict.kind == conflict.kind
        && known.conflict.base.isSame(as: conflict.base)
        && known.conflict.mine.isSame(as: conflict.mine)
        && known.conflict.theirs.isSame(as: conflict.theirs)
    }?.resolution
  }

  private static func identity(
    of conflict: MergeConflict<Element>
  ) -> Element.DifferenceIdentifier? {
    (conflict.mine ?? conflict.theirs)?.differenceIdentifier
  }
}

extension MergeConflict.Resolved: CustomStringConvertible {
  /// The key of the element, the edits of both sides, and the winner, in one line.
  ///
  /// ```
  /// conflict at "Tea": both sides edited it (count is 2 in mine and 3 in theirs); theirs wins
  /// ```
  ///
  /// Long values are shortened to the part that differs. Control characters are escaped, because they could control a
  /// terminal. An element that conforms to `ChangeDescribable` returns its own fields.
  public var description: String {
    "conflict at \(key): \(edits); \(winner) wins"
  }

  private var key: String {
    let element = conflict.theirs ?? conflict.mine ?? conflict.base
    return element.map { shown(ValueFormatter.text(of: $0.differenceIdentifier)) } ?? ""
  }

  private var edits: String {
    switch conflict.kind {
    case .edited: "both sides edited it\(fields)"
    case .added: "both sides added it\(fields)"
    case .deletedByMine: "mine deleted it, theirs edited it\(fields)"
    case .deletedByTheirs: "theirs deleted it, mine edited it\(fields)"
    case .moved: "both sides moved it, to different places"
    }
  }

  private var winner: String {
    switch resolution {
    case .mine: "mine"
    case .theirs: "theirs"
    case .merged: "the merged value"
    }
  }

  /// The fields in which the two sides differ, or that one side has edited.
  private var fields: String {
    let isBoth = conflict.mine != nil && conflict.theirs != nil
    let old = isBoth ? conflict.mine : conflict.base
    guard let old, let new = conflict.theirs ?? conflict.mine else { return "" }
    let style = ChangeDescription.Style()
    let fields = ChangeDescription.changedFields(from: old, to: new)
    if fields.isEmpty { return "" }
    let described = fields.prefix(style.fieldLimit).map { field in
      let name = shown(field.name)
      let (old, new) = ValueFormatter.shortened(
        field.old ?? "nothing", field.new ?? "nothing", to: style.valueLength)
      return isBoth ? "\(name) is \(old) in mine and \(new) in theirs" : "\(name): \(old) → \(new)"
    }
    let rest = fields.count - described.count
    return " (\(described.joined(separator: ", "))\(rest > 0 ? ", and \(rest) more" : ""))"
  }

  private func shown(_ text: String) -> String {
    ValueFormatter.shortened(text, to: ChangeDescription.Style().valueLength)
  }
}
