public import Diffing

/// How two sides differ in what they have done to one element.
public enum MergeConflictKind: Sendable, Hashable {
  /// Both edited it, differently.
  case edited
  /// Both added it, with different contents.
  case added
  /// Mine deleted it, theirs edited it.
  case deletedByMine
  /// Theirs deleted it, mine edited it.
  case deletedByTheirs
  /// Both moved it, to different places.
  case moved
}

/// What two sides have done to one element that cannot both hold.
public struct MergeConflict<Element: Differentiable & Sendable>: Sendable {
  /// How the two sides differ.
  public typealias Kind = MergeConflictKind

  /// What a conflict comes to.
  public enum Resolution: Sendable {
    /// What mine has done holds.
    case mine
    /// What theirs has done holds.
    case theirs
    /// Neither: this content holds.
    ///
    /// It must have the identity of the element. A place cannot be merged: there it is taken for `theirs`.
    case merged(Element)
  }

  /// How the two sides differ.
  public let kind: Kind
  /// The element as both had it; nil where both added it.
  public let base: Element?
  /// The element of mine; nil where it was deleted.
  public let mine: Element?
  /// The element of theirs; nil where it was deleted.
  public let theirs: Element?

  /// Creates a conflict.
  public init(kind: Kind, base: Element?, mine: Element?, theirs: Element?) {
    (self.kind, self.base, self.mine, self.theirs) = (kind, base, mine, theirs)
  }
}

/// A conflict, and how it was resolved.
public struct ResolvedConflict<Element: Differentiable & Sendable>: Sendable {
  /// What the two sides have done.
  public let conflict: MergeConflict<Element>
  /// What it came to.
  public let resolution: MergeConflict<Element>.Resolution
}
