/// Why a text is not the JSON that was expected.
public struct JSONError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What kind of fault it is, for programs.
  public enum Code: String, Sendable, Hashable {
    /// Nothing but white space.
    case empty
    /// The text ends too early.
    case truncated
    /// Something stands where JSON does not allow it.
    case syntax
    /// The text is not UTF-8.
    case encoding
    /// Arrays and objects are nested too deeply.
    case depth
    /// The whole is valid, but no array.
    case notAnArray
    /// An element has no member of the name of the key.
    case missingKey
    /// The key of an element is an object or an array.
    case invalidKey
    /// An element is not what its type expects.
    case undecodable
  }

  /// A place in a text, counted from 1; columns count Unicode scalars.
  public struct Position: Sendable, Hashable {
    /// The line, from 1.
    public var line: Int
    /// The column, from 1.
    public var column: Int

    /// Creates a position.
    public init(line: Int, column: Int) {
      self.line = line
      self.column = column
    }
  }

  /// What kind of fault it is.
  public var code: Code
  /// What is wrong, and what would help.
  public var reason: String
  /// Where it was found; nil where there is no text.
  public var position: Position?
  /// The offset, from 0, of the element of the outermost array that it belongs to.
  public var elementOffset: Int?

  /// Creates an error.
  public init(
    code: Code, reason: String, position: Position? = nil, elementOffset: Int? = nil
  ) {
    self.code = code
    self.reason = reason
    self.position = position
    self.elementOffset = elementOffset
  }

  /// The place, the element and the reason.
  public var description: String {
    var place: [String] = []
    if let position { place.append("line \(position.line), column \(position.column)") }
    if let elementOffset { place.append("element \(elementOffset)") }
    return place.isEmpty ? reason : place.joined(separator: ", ") + ": " + reason
  }
}
