import Foundation
import SQLiteSources

/// `guest USER PATH`: becomes a user, and reads the table `item` of the database at PATH.
///
/// The answer is the number of rows, or the code of the error. A second answer is that of an immutable connection.
func runGuestCommand(_ arguments: [String]) -> Int32 {
  guard arguments.count == 2, let user = uid_t(arguments[0]) else {
    answer("error: guest needs the number of a user and the path of a database")
    return 2
  }
  guard setgroups(0, nil) == 0, setgid(user) == 0, setuid(user) == 0 else {
    answer("error: this process cannot become another user")
    return 1
  }
  answer("ok")
  for access in [SQLiteConnection.Access.readOnly, .immutable] {
    do throws(SQLiteError) {
      let connection = try SQLiteConnection(path: arguments[1], access: access)
      answer("\(try connection.query("SELECT * FROM item").count)")
    } catch {
      answer(error.code.rawValue)
    }
    _ = readLine()
  }
  return 0
}
