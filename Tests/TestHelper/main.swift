/// The second process of the tests: its first argument names what it does.
///
///     TestHelper sql PATH     runs each line of its input as SQL on the database at PATH
///     TestHelper save PATH    makes each line of its input the contents of the file at PATH
///     TestHelper keep KIND PATH   saves one state of a session after the other
///     TestHelper patch PATH   overwrites bytes of the file at PATH
///     TestHelper todos PATH   shows a list as a guide has it
///     TestHelper screen       shows keys and signals in its terminal
///     TestHelper closed       goes on with a screen that it has closed
///     TestHelper job NAME …   runs itself with these arguments as a job, and goes on with it when it stops
let subcommands: [String: ([String]) -> Int32] = [
  "closed": runClosedCommand,
  "job": runJobCommand,
  "keep": runKeepCommand,
  "patch": runPatchCommand,
  "save": runSaveCommand,
  "screen": runScreenCommand,
  "sql": runSQLCommand,
  "todos": runTodosCommand,
]

let arguments = Array(CommandLine.arguments.dropFirst())
guard let name = arguments.first, let subcommand = subcommands[name] else {
  let names = subcommands.keys.sorted().joined(separator: ", ")
  print("error: TestHelper takes one of these: \(names)")
  exitHelper(2)
}
exitHelper(subcommand(Array(arguments.dropFirst())))
