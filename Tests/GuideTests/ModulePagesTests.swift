import Swappable
import TestSupport
import Testing

/// The code on the pages of the modules.
@Suite struct ModulePagesTests {
  @Test func `the code on the page of ReactiveSignals is the code that runs here`() throws {
    let page = try Guide("Modules/ReactiveSignals")
    #expect(page.code.count == 1)
    #expect(try page.blocks(missingIn: #filePath) == [])
  }

  @Test func `an observer receives each new length of a name`() {
    let print = Printed()
    let name = Property("Ada")
    let observation = name.signal.map(\.count).removeDuplicates().observe { print($0) }
    name.value = "Grace"
    observation.dispose()
    #expect(print.lines == ["3", "5"])
  }
}
