/// The commands of the second process that tests start. The first argument is the name of the
/// command.
///
///     TestHelper sql PATH           runs each line of the input as SQL on the database at PATH
///     TestHelper save PATH [KIND]   saves each line of the input as the file at PATH
///     TestHelper keep KIND PATH     saves states of a session in a store until it is killed
///     TestHelper guest USER PATH    reads the database at PATH as another user
///     TestHelper missing COUNT DIRECTORY   observes databases that do not exist
///     TestHelper patch PATH         overwrites bytes of the file at PATH
///     TestHelper postgres CONNINFO SQL   observes a query of a PostgreSQL database
///     TestHelper todos PATH         runs the program of a guide
///     TestHelper screen [OPTION]    shows keys and signals in the terminal
///     TestHelper closed             uses a screen after it is closed
///     TestHelper job PROGRAM …      runs a program as a job, and continues the job after a stop
let subcommands: [String: ([String]) -> Int32] = [
  "closed": runClosedCommand,
  "guest": runGuestCommand,
  "job": runJobCommand,
  "keep": runKeepCommand,
  "missing": runMissingCommand,
  "patch": runPatchCommand,
  "postgres": runPostgresCommand,
  "save": runSaveCommand,
  "screen": runScreenCommand,
  "sql": runSQLCommand,
  "todos": runTodosCommand,
]

let arguments = Array(CommandLine.arguments.dropFirst())
guard let name = arguments.first, let subcommand = subcommands[name] else {
  let names = subcommands.keys.sorted().joined(separator: ", ")
  print("error: the first argument must be one of these: \(names)")
  exitHelper(2)
}
exitHelper(subcommand(Array(arguments.dropFirst())))
