import SQLiteSources

// swift-format-ignore: NeverUseForceTry
let database = try! SQLiteConnection.makeInMemory()
func spelled(_ title: String) -> String { title }
