import Diffing
import FileSources
import ObservableCollections
@testable import RemoteSources
import Testing

@Suite struct EventLineTests {
  @Test func `an initial line names its key and its token`() throws {
    let elements = try JSONElement.elements(ofArray: Array(#"[{"id":1}]"#.utf8), key: "id")
    var line = LineBuffer()
    EventLine.appendInitial(
      Snapshot(elements), revision: 7, key: "id", token: "e-7", to: &line)
    let text = String(decoding: line.bytes, as: UTF8.self)
    #expect(
      text
        == #"{"event":"initial","revision":7,"key":"id","token":"e-7","elements":[{"id":1}]}"#
        + "\n")
    guard case .initial(let initial) = try InputEvent(Array(text.utf8)) else {
      return #expect(Bool(false), "not an initial event")
    }
    #expect(initial.revision == 7 && initial.key == "id" && initial.token == "e-7")
    #expect(initial.elements == elements)
    #expect(initial.elements[0].differenceIdentifier == elements[0].differenceIdentifier)
  }
}
