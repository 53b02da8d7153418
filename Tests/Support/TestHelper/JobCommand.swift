import Foundation

/// `job [--background] PROGRAM …`: runs a program as a job of the terminal, like a shell.
///
/// The program is a path, or the name of a command of this program. When the job stops, this command
/// prints the line `stopped`, and waits for a line of input: after `bg`, it continues the job in the
/// background, and after any other line in the foreground. It exits with the status of the job.
/// SIGTSTP stops only a process that another process of the session controls in this way.
///
/// With `--background`, the job begins in the background. SIGUSR1 takes a running job to the
/// foreground.
func runJobCommand(_ arguments: [String]) -> Int32 {
  let isBackground = arguments.first == "--background"
  let arguments = isBackground ? Array(arguments.dropFirst()) : arguments
  let isPath = arguments.first?.contains("/") == true
  let path = isPath ? arguments[0] : CommandLine.arguments[0]
  // A background process that changes the foreground job receives SIGTTOU. A job in the foreground
  // inherits this setting, because it may begin before it is in the foreground.
  signal(SIGTTOU, SIG_IGN)
  var (user, none, output) = (sigset_t(), sigset_t(), sigset_t())
  sigemptyset(&user)
  sigemptyset(&none)
  sigemptyset(&output)
  sigaddset(&user, SIGUSR1)
  sigaddset(&output, SIGTTOU)
  pthread_sigmask(SIG_BLOCK, &user, nil)
  var attributes = posix_spawnattr_t()
  posix_spawnattr_init(&attributes)
  defer { posix_spawnattr_destroy(&attributes) }
  posix_spawnattr_setsigmask(&attributes, &none)
  posix_spawnattr_setsigdefault(&attributes, &output)
  let flags =
    POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | (isBackground ? POSIX_SPAWN_SETSIGDEF : 0)
  posix_spawnattr_setflags(&attributes, Int16(flags))

  let texts = (isPath ? arguments : [path] + arguments).map { strdup($0) } + [nil]
  defer { for text in texts { free(text) } }
  var started: pid_t = 0
  guard posix_spawn(&started, path, nil, &attributes, texts, environ) == 0 else {
    answer("error: cannot start \(path)")
    return 1
  }
  let job = started
  if !isBackground { tcsetpgrp(STDIN_FILENO, job) }
  Thread.detachNewThread {
    var user = sigset_t()
    sigemptyset(&user)
    sigaddset(&user, SIGUSR1)
    var number: Int32 = 0
    while sigwait(&user, &number) == 0 { tcsetpgrp(STDIN_FILENO, job) }
  }
  while true {
    var status: Int32 = 0
    guard waitpid(job, &status, WUNTRACED) == job else { return 1 }
    // As in the macros WIFSTOPPED and WEXITSTATUS: the low byte is 0x7F if the process stopped.
    guard status & 0xFF == 0x7F else { return status >> 8 & 0xFF }
    tcsetpgrp(STDIN_FILENO, getpgrp())
    answer("stopped")
    if readLine() != "bg" { tcsetpgrp(STDIN_FILENO, job) }
    kill(-job, SIGCONT)
  }
}
