import HummingbirdTesting
import Testing
@testable import LiveService
@Test func x() {}
