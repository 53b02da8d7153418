/// What a user of a terminal does with the keyboard.
public enum TerminalKey: Sendable, Hashable {
  /// A character is typed.
  ///
  /// One that is made of several scalars comes as several keys, which give it when they are appended
  /// to a string one by one.
  case character(Character)
  /// A character is typed with the control key: a small letter, a space, or one of `\ ] ^ _`.
  case control(Character)
  /// A character is typed with the alternate key.
  case alternate(Character)
  /// Text is pasted, its lines ended by `\n`; a very long one comes in pieces.
  case pasted(String)
  /// The return key.
  case enter
  /// The escape key.
  case escape
  /// The tabulator key.
  case tab
  /// The tabulator key with the shift key.
  case backTab
  /// The key that deletes to the left.
  case backspace
  /// The key that deletes to the right.
  case delete
  /// The insert key.
  case insert
  /// An arrow key. Here and below, with whatever modifiers.
  case up
  /// An arrow key.
  case down
  /// An arrow key.
  case left
  /// An arrow key.
  case right
  /// The home key.
  case home
  /// The end key.
  case end
  /// The page-up key.
  case pageUp
  /// The page-down key.
  case pageDown
  /// A function key, from 1.
  case function(Int)
}
