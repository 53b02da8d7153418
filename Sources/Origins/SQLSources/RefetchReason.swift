/// The reason why the whole result of a query is read again after each change.
package struct RefetchReason: Error, Sendable, Hashable {
  /// The reason, as a sentence.
  package let sentence: String
  /// An instruction that would make the query incremental, as a sentence.
  package let suggestion: String

  package init(_ sentence: String, suggestion: String) {
    (self.sentence, self.suggestion) = (sentence, suggestion)
  }

  /// The reason and the instruction.
  package var text: String { "\(sentence) \(suggestion)" }
}
