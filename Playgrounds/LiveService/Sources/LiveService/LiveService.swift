import ArgumentParser
import Hummingbird
import Logging
import Swappable

@main
struct LiveService: AsyncParsableCommand {
  func run() async throws {
    let router = Router()
    router.get("/") { _, _ in Response(status: .ok) }
    let app = Application(router: router)
    try await app.runService()
  }
}
