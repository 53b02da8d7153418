// Live lists of the contents of files. Saving a file changes its list.
//
//     swift run Files
import Foundation
import Swappable

nonisolated struct Person: Codable, Identifiable, Hashable, Differentiable, CustomStringConvertible
{
  var id: Int
  var name: String
  var description: String { name }
}

let folder = FileManager.default.temporaryDirectory
  .appendingPathComponent("Files-\(UUID().uuidString)")
try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
defer { try? FileManager.default.removeItem(at: folder) }

// MARK: A JSON array

let file = folder.appendingPathComponent("people.json")
func save(_ text: String) throws { try Data(text.utf8).write(to: file, options: .atomic) }

try save(#"[{"id": 1, "name": "Ada"}, {"id": 2, "name": "Grace"}]"#)
let people = JSONFileDataSource<Person>(path: file.path)
print("before loading:", people.status.state)
print("loaded:", Array(try await people.loaded()))

/// The changes of the observed files.
let (changes, send) = AsyncStream<CollectionChange<Person>>.makeStream()
let observer = { @Sendable (event: CollectionEvent<Person>) in
  if case .change(let change) = event { send.yield(change) }
}
func printNextChange(_ title: String) async {
  for await change in changes {
    print("\(title): \(change.changeset.summary) -> \(Array(change.after))")
    return
  }
}

// Each save is one change. A save that changes only white space is no change.
let observation = people.observe(observer)
try save(#"[ {"id": 1, "name": "Ada"},   {"id": 2, "name": "Grace"} ]"#)
try save(
  #"[{"id": 2, "name": "Grace Hopper"}, {"id": 1, "name": "Ada"}, {"id": 3, "name": "Edsger"}]"#)
await printNextChange("saved")

// MARK: An error is a status

// If the file is not valid, the list keeps its last contents. The error names the line and the
// column.
let (statuses, sendStatus) = AsyncStream<SourceStatus>.makeStream()
let statusObservation = people.observeStatus { sendStatus.yield($0) }
try save("[{\"id\": 2, \"name\": \"Grace\"},\n {\"id\": }]")
for await status in statuses {
  guard let error = status.error else { continue }
  print(error.message.replacingOccurrences(of: folder.path, with: "…"))
  break
}
print("kept:", Array(people.snapshot))
try save(#"[{"id": 2, "name": "Grace"}]"#)
await printNextChange("corrected")

// MARK: JSON Lines

// Lines appended to the file are inserted at the end. The rest of the file is not read again.
let log = folder.appendingPathComponent("people.jsonl")
try Data("{\"id\": 1, \"name\": \"Ada\"}\n".utf8).write(to: log)
let entries = JSONLinesDataSource<Person>(path: log.path)
print("lines:", Array(try await entries.loaded()))
let entryObservation = entries.observe(observer)
let handle = try FileHandle(forWritingTo: log)
try handle.seekToEnd()
try handle.write(contentsOf: Data("{\"id\": 2, \"name\": \"Grace\"}\n".utf8))
try handle.close()
await printNextChange("appended")
