/// An error of a live query. Its result stays as it was.
package struct LiveQueryError<Failure: SQLError>: Error {
  package let error: Failure
  /// The interval after which the query is read again, or `nil` if it waits for a change.
  package let retryInterval: Duration?

  package init(_ error: Failure, retryInterval: Duration? = nil) {
    (self.error, self.retryInterval) = (error, retryInterval)
  }
}

/// The reason why the whole result of a query is read again after each change.
package struct RefetchReason: Error, Sendable, Hashable {
  /// The reason, as a sentence.
  package let sentence: String
  /// An instruction that would make the query incremental, as a sentence.
  package let suggestion: String

  package init(_ sentence: String, suggestion: String) {
    (self.sentence, self.suggestion) = (sentence, suggestion)
  }
}
