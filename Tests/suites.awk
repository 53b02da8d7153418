# Prints the modules and suites in xUnit files: their numbers of tests, the modules' time, and the suites that failed.

/<testcase / {
  suite = attribute("classname")
  if (!(suite in tests)) suites[++count] = suite
  tests[suite]++
  seconds += attribute("time")
  total++
}
/<failure/ { failed[suite] = 1 }
END {
  if (!count) exit
  module = suites[1]
  sub(/\..*/, "", module)
  for (suite in failed) failures++
  printf "%s %s: %d tests in %d suites, %.2f s\n", failures ? "✘ failed" : "✔ passed", module,
    total, count, seconds
  for (i = 1; i <= count; i++) {
    name = suites[i]
    sub(/^[^.]*\./, "", name)
    if (suites[i] in failed) print "  ✘ failed: " name
    entry = name " " tests[suites[i]]
    if (line != "" && length(line) + length(entry) > 96) {
      print line ","
      line = ""
    }
    line = line == "" ? "  " entry : line ", " entry
  }
  print line
}

function attribute(name) {
  if (!match($0, " " name "=\"[^\"]*\"")) return ""
  return substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 4)
}
