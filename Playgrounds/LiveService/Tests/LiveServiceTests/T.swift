import Testing
@testable import LiveService
