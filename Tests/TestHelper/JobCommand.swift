import Foundation

/// `job NAME …`: runs this program with these arguments as a shell runs a job in the foreground of the
/// terminal. When the job stops it says so in a line, waits for a line of input, and continues the job;
/// it ends when the job ends, with its status.
///
/// Only a process that is watched like that is stopped by SIGTSTP.
func runJobCommand(_ arguments: [String]) -> Int32 {
  // The terminal is handed over from the background, which would stop this program, and the job where
  // it is faster; it inherits this.
  signal(SIGTTOU, SIG_IGN)
  var attributes = posix_spawnattr_t()
  posix_spawnattr_init(&attributes)
  defer { posix_spawnattr_destroy(&attributes) }
  posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))

  let texts = ([CommandLine.arguments[0]] + arguments).map { strdup($0) } + [nil]
  defer { for text in texts { free(text) } }
  var job: pid_t = 0
  guard posix_spawn(&job, CommandLine.arguments[0], nil, &attributes, texts, environ) == 0 else {
    answer("error: \(CommandLine.arguments[0]) cannot be started")
    return 1
  }
  tcsetpgrp(STDIN_FILENO, job)
  while true {
    var status: Int32 = 0
    guard waitpid(job, &status, WUNTRACED) == job else { return 1 }
    // As the macros have it: the low byte tells of a stop, the next one why.
    guard status & 0xFF == 0x7F else { return status >> 8 & 0xFF }
    tcsetpgrp(STDIN_FILENO, getpgrp())
    answer("stopped")
    _ = readLine()
    tcsetpgrp(STDIN_FILENO, job)
    kill(-job, SIGCONT)
  }
}
