import Foundation
import SwappablePrimitives
import Testing

@Suite struct AbsolutePathTests {
  @Test func `an absolute path stays as it is`() {
    for path in ["/", "/tmp/a", "//a", "/\u{301}a"] {
      #expect(isAbsolutePath(path))
      #expect(Array(absolutePath(path).utf8) == Array(path.utf8))
    }
  }

  @Test func `a relative path begins at the working directory`() {
    let directory = FileManager.default.currentDirectoryPath
    for path in ["", "a", "a/b", "../a", "~"] {
      #expect(!isAbsolutePath(path))
      #expect(absolutePath(path) == directory + "/" + path)
    }
  }
}
