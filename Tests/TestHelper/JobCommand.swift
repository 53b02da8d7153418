import Foundation

/// `job NAME …`: runs this program with the arguments as a foreground job of the terminal, like a
/// shell.
///
/// When the job stops, it prints the line `stopped`, waits for a line of input, and continues the
/// job. It exits with the status of the job. SIGTSTP stops only a process that another process of
/// the session controls in this way.
func runJobCommand(_ arguments: [String]) -> Int32 {
  // A background process that changes the foreground job receives SIGTTOU. The job inherits this
  // setting.
  signal(SIGTTOU, SIG_IGN)
  var attributes = posix_spawnattr_t()
  posix_spawnattr_init(&attributes)
  defer { posix_spawnattr_destroy(&attributes) }
  posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))

  let texts = ([CommandLine.arguments[0]] + arguments).map { strdup($0) } + [nil]
  defer { for text in texts { free(text) } }
  var job: pid_t = 0
  guard posix_spawn(&job, CommandLine.arguments[0], nil, &attributes, texts, environ) == 0 else {
    answer("error: cannot start \(CommandLine.arguments[0])")
    return 1
  }
  tcsetpgrp(STDIN_FILENO, job)
  while true {
    var status: Int32 = 0
    guard waitpid(job, &status, WUNTRACED) == job else { return 1 }
    // As in the macros WIFSTOPPED and WEXITSTATUS: the low byte is 0x7F if the process stopped.
    guard status & 0xFF == 0x7F else { return status >> 8 & 0xFF }
    tcsetpgrp(STDIN_FILENO, getpgrp())
    answer("stopped")
    _ = readLine()
    tcsetpgrp(STDIN_FILENO, job)
    kill(-job, SIGCONT)
  }
}
