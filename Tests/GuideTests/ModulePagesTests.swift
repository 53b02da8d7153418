import Swappable
import TestSupport
import Testing

/// The code on the pages of the modules.
@Suite struct ModulePagesTests {
  @Test func theCodeOnThePageOfTheSignalsIsWhatIsRunHere() throws {
    let page = try Guide("Modules/ReactiveSignals")
    #expect(page.code.count == 1)
    #expect(try page.blocks(missingIn: #filePath) == [])
  }

  @Test func aPropertyTellsOfEachNewLength() {
    let print = Printed()
    let name = Property("Ada")
    let observation = name.signal.map(\.count).removeDuplicates().observe { print($0) }
    name.value = "Grace"
    observation.dispose()
    #expect(print.lines == ["3", "5"])
  }
}
