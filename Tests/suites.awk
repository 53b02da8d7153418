# Prints a line for each suite in an xUnit file: whether it passed, its name, its tests and their time.

/<testcase / {
  suite = attribute("classname")
  if (!(suite in tests)) suites[++count] = suite
  tests[suite]++
  seconds[suite] += attribute("time")
}
/<failure/ { failed[suite] = 1 }
END {
  for (i = 1; i <= count; i++) {
    suite = suites[i]
    printf "%s %-66s %4d %s %7.2f s\n", suite in failed ? "✘ failed" : "✔ passed", suite,
      tests[suite], tests[suite] == 1 ? "test " : "tests", seconds[suite]
  }
}

function attribute(name) {
  if (!match($0, " " name "=\"[^\"]*\"")) return ""
  return substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 4)
}
