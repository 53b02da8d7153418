# Reads the events of a test run. Writes the tests that failed, one a line, to the file `retry`, and succeeds if there are
# some and all of them have the tag `system`. A run that crashed has tests that did not end: then it fails. With the variable
# `lists_running`, it only prints these.

/^{"kind":"test",/ && /tags":\[[^]]*"\.system"/ { isSystem[value("id", ",\"isParameterized\"")] = 1 }
/"kind":"testStarted"/ { isRunning[value("testID", "")] = 1 }
/"kind":"testEnded"/ {
  test = value("testID", "")
  delete isRunning[test]
  # A suite fails because of its tests.
  if (/"symbol":"fail"/ && test ~ /\.swift:[0-9]+:[0-9]+$/) failed[test] = 1
}
END {
  if (lists_running) {
    for (test in isRunning) if (test ~ /\.swift:[0-9]+:[0-9]+$/) print "✘ It did not end: " test
    exit
  }
  count = 0
  for (test in failed) {
    if (!(test in isSystem)) exit 1
    sub(/\/[^\/]*\.swift:[0-9]+:[0-9]+$/, "", test)
    print test > retry
    count++
  }
  for (test in isRunning) exit 1
  exit count == 0
}

# The text of a member that something follows. Its slashes and quotes are escaped.
function value(name, following, text) {
  if (!match($0, "\"" name "\":\"([^\"\\\\]|\\\\.)*\"" following)) return ""
  text = substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - length(following) - 5)
  gsub(/\\\//, "/", text)
  gsub(/\\"/, "\"", text)
  return text
}
