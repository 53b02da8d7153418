func run() async throws {}
