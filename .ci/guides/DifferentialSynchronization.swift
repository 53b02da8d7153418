import Foundation

let path = "stock.db"
func folder(_ name: String) -> URL { URL(fileURLWithPath: name) }

// After the page:
print(kept.client.count, larger.merged.count)
// The text has: merge.conflicts.filter { $0.conflict.kind != .moved }
print(merge.conflicts.filter { $0.conflict.kind != .moved }.count)
