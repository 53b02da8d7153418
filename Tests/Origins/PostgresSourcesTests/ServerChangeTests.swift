import Testing

@testable import PostgresSources

@Suite struct ServerChangeTests {
  private let error = PostgresError(.connectionLost, "the connection was lost", help: "wait")

  @Test func `a loss that is over is still known`() {
    var change = ServerChange(.failed(error))
    #expect(change.request == nil && change.failure != nil && change.loss != nil)
    change.merge(ServerChange(.connected(isBack: true)))
    #expect(change.request == .reconnection && change.failure == nil && change.loss != nil)
    change.merge(ServerChange(.found))
    #expect(change.request == .reconnection && change.loss != nil && change.concernsConnection)
  }

  @Test func `the strongest reason counts`() {
    var change = ServerChange(.found)
    change.merge(ServerChange(.safety))
    change.merge(ServerChange(.recorded(tables: nil)))
    #expect(change.request == .verification && change.count == 3 && !change.concernsConnection)
    change.merge(ServerChange(.failed(error)))
    #expect(change.request == .verification && change.failure != nil)
  }
}
