import Foundation

/// `save PATH`: makes each line of the input the contents of the file at PATH, in place and by a
/// rename in turn, and answers it by one, as `sql` does.
func runSaveCommand(_ arguments: [String]) -> Int32 {
  guard let path = arguments.first else {
    answer("error: save takes the path of a file")
    return 2
  }
  answer("ok")
  var isInPlace = true
  while let line = readLine() {
    let target = isInPlace ? path : path + ".new"
    guard let file = fopen(target, "w") else {
      answer("error: \(target) cannot be opened")
      continue
    }
    fputs(line, file)
    fclose(file)
    if !isInPlace { rename(target, path) }
    isInPlace.toggle()
    answer("ok")
  }
  return 0
}
