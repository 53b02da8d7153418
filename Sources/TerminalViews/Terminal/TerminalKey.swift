/// A key that the user pressed, or text that the user pasted.
public enum TerminalKey: Sendable, Hashable {
  /// A typed character.
  ///
  /// A character of several Unicode scalars arrives as several keys. Append them to a string one by
  /// one to obtain the character.
  case character(Character)
  /// A character typed with the Control key: a lowercase letter, a space, or one of `\ ] ^ _`.
  case control(Character)
  /// A character typed with the Alt key.
  case alternate(Character)
  /// Pasted text, with lines that end with `\n`. A very long text arrives in several pieces.
  case pasted(String)
  /// The Return key.
  case enter
  /// The Escape key.
  case escape
  /// The Tab key.
  case tab
  /// The Tab key with the Shift key.
  case backTab
  /// The Backspace key, which deletes to the left.
  case backspace
  /// The Delete key, which deletes to the right.
  case delete
  /// The Insert key.
  case insert
  /// The Up Arrow key. This and the following keys are reported alike with and without modifiers.
  case up
  /// The Down Arrow key.
  case down
  /// The Left Arrow key.
  case left
  /// The Right Arrow key.
  case right
  /// The Home key.
  case home
  /// The End key.
  case end
  /// The Page Up key.
  case pageUp
  /// The Page Down key.
  case pageDown
  /// A function key. The first one has the number 1.
  case function(Int)
}
