import Foundation

/// `patch PATH`: each line of the input, `OFFSET BYTE…`, overwrites bytes of the file at PATH in
/// place, and is answered by those that were there before.
///
/// It takes a process of its own: closing the file would drop the locks that SQLite has on it.
func runPatchCommand(_ arguments: [String]) -> Int32 {
  guard let path = arguments.first else {
    answer("error: patch takes the path of a file")
    return 2
  }
  answer("ok")
  while let line = readLine() {
    let numbers = line.split(separator: " ").compactMap { Int($0) }
    guard let offset = numbers.first, let file = fopen(path, "r+") else {
      answer("error: \(path) cannot be opened, or no offset in \(line)")
      continue
    }
    var old = [UInt8](repeating: 0, count: numbers.count - 1)
    fseek(file, offset, SEEK_SET)
    let count = fread(&old, 1, old.count, file)
    fseek(file, offset, SEEK_SET)
    fwrite(numbers.dropFirst().map { UInt8(truncatingIfNeeded: $0) }, 1, count, file)
    fclose(file)
    answer(old.prefix(count).map { String($0) }.joined(separator: " "))
  }
  return 0
}
