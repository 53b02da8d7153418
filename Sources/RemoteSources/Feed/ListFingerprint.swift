import Diffing
final class ListFingerprint: @unchecked Sendable {
  init(_ elements: some Collection<[UInt8]>) {}
  func apply(_ changeset: Changeset, bytes: (Int) -> [UInt8]) {}
  var text: String { String(UInt64.random(in: 0...(.max)), radix: 36) }
}
