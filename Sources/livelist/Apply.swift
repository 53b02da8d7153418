import FileSources
import Foundation
import ObservableCollections

/// `apply`: folds the events on standard input and prints what they lead to.
struct Apply {
  let old: SourceSpecification?
  let output: Output

  func run() async throws(Failure) {
    var fold = Fold(try await oldElements())
    let input = LineReader(descriptor: STDIN_FILENO)
    var number = 0
    while let line = await input.next() {
      number += 1
      if line.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { continue }
      do throws(EventFault) {
        try fold.apply(ReadEvent(line))
      } catch {
        throw .input("standard input, line \(number): \(error.reason)")
      }
    }
    guard let elements = fold.elements else {
      throw .input(
        "standard input holds no initial event; pipe the output of livelist watch into this, "
          + "or say what the events change, by livelist apply OLD")
    }
    output.array(of: elements)
    // The process frees its memory faster than its objects do.
    Program.end()
  }

  private func oldElements() async throws(Failure) -> [JSONElement]? {
    guard let old else { return nil }
    return Array(try await old.open(key: nil).loadedOrFailure())
  }
}
