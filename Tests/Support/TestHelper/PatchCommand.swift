import Foundation

/// `patch PATH`: for each line `OFFSET BYTE…` of the input, overwrites bytes of the file at PATH, or
/// appends them.
///
/// It answers each line with the previous bytes. It is a separate process, because closing the file
/// releases the locks that SQLite has on it in the same process.
func runPatchCommand(_ arguments: [String]) -> Int32 {
  guard let path = arguments.first else {
    answer("error: patch needs the path of a file")
    return 2
  }
  answer("ok")
  while let line = readLine() {
    let numbers = line.split(separator: " ").compactMap { Int($0) }
    guard let offset = numbers.first, let file = fopen(path, "r+") else {
      answer("error: cannot open \(path), or the line \"\(line)\" has no offset")
      continue
    }
    var old = [UInt8](repeating: 0, count: numbers.count - 1)
    fseek(file, offset, SEEK_SET)
    let count = fread(&old, 1, old.count, file)
    fseek(file, offset, SEEK_SET)
    fwrite(numbers.dropFirst().map { UInt8(truncatingIfNeeded: $0) }, 1, old.count, file)
    fclose(file)
    answer(old.prefix(count).map { String($0) }.joined(separator: " "))
  }
  return 0
}
