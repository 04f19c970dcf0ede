# Prints the record of gpu-check.sh, whose lines are separated by tabs, as a page of Markdown, or as one JSON document:
#   awk [-v form=json] -f record.awk targets.txt gpu-check.tsv
# Lines of the record, of which later ones replace earlier ones of the same name:
#   call TIME | fact NAME VALUE | figure NAME VALUE UNIT
#   stage NAME, then of this stage: case NAME RESULT SECONDS REASON | end RESULT SECONDS REASON
BEGIN { FS = "\t" }
FILENAME ~ /targets\.txt$/ {
  if ($0 ~ /^(#|$)/) next
  split($0, part, "|")
  target[++targets] = part[1]
  limit[part[1]] = part[2]
  target_unit[part[1]] = part[3]
  meaning[part[1]] = part[4]
}
$1 == "call" { call[++calls] = $2 }
$1 == "fact" { if (!($2 in fact)) facts[++n_facts] = $2; fact[$2] = $3 }
$1 == "figure" { if (!($2 in figure)) figures[++n_figures] = $2; figure[$2] = $3; unit[$2] = $4 }
$1 == "stage" {
  for (i = 1; i <= n_stages; ++i) if (stages[i] == $2) stages[i] = ""
  stages[++n_stages] = $2
  cases[n_stages] = 0
  set_outcome(n_stages, "unfinished", 0, "the check ended in this stage")
}
$1 == "case" {
  cases[n_stages] += 1
  name[n_stages, cases[n_stages]] = $2
  set_outcome(n_stages SUBSEP cases[n_stages], $3, $4, $5)
}
$1 == "end" { set_outcome(n_stages, $2, $3, $4) }
END { if (form == "json") print_document(); else print_page() }

function set_outcome(entry, its_result, its_seconds, its_reason) {
  result[entry] = its_result
  seconds[entry] = its_seconds
  reason[entry] = its_reason
}
# The value of a figure; null: not measured.
function value_of(one) { if (one in figure) return figure[one]; return "null" }
# Whether a figure keeps to its limit: true, false or null.
function met(one,    words, value) {
  value = value_of(one)
  if (value == "null") return value
  split(limit[one], words, " ")
  if (words[1] == "<") return value + 0 < words[2] + 0 ? "true" : "false"
  if (words[1] == "<=") return value + 0 <= words[2] + 0 ? "true" : "false"
  return value + 0 >= words[2] + 0 ? "true" : "false"
}

function quoted(value,    parts, n, i, text) {
  n = split(value, parts, "\"")
  text = parts[1]
  for (i = 2; i <= n; ++i) text = text "\\\"" parts[i]
  return "\"" text "\""
}
function separator(first) { return first ? "\n" : ",\n" }
function outcome(entry) {
  return "\"result\": " quoted(result[entry]) ", \"seconds\": " seconds[entry] ", \"reason\": " quoted(reason[entry])
}
function print_document(    i, j, one, printed) {
  printf "{\n  \"calls\": ["
  for (i = 1; i <= calls; ++i) printf "%s    %s", separator(i == 1), quoted(call[i])
  printf "\n  ],\n  \"targets\": ["
  for (i = 1; i <= targets; ++i) {
    one = target[i]
    printf "%s    {\"name\": %s, \"meaning\": %s, ", separator(i == 1), quoted(one), quoted(meaning[one])
    printf "\"limit\": %s, \"unit\": %s, ", quoted(limit[one]), quoted(target_unit[one])
    printf "\"value\": %s, \"met\": %s}", value_of(one), met(one)
  }
  printf "\n  ],\n  \"stages\": ["
  for (i = 1; i <= n_stages; ++i) {
    if (stages[i] == "") continue
    printf "%s    {\"name\": %s, %s, \"cases\": [", separator(!printed), quoted(stages[i]), outcome(i)
    printed = 1
    for (j = 1; j <= cases[i]; ++j) {
      printf "%s      {\"name\": %s, %s}", separator(j == 1), quoted(name[i, j]), outcome(i SUBSEP j)
    }
    printf "]}"
  }
  printf "\n  ],\n  \"figures\": ["
  for (i = 1; i <= n_figures; ++i) {
    one = figures[i]
    printf "%s    {\"name\": %s, \"value\": %s, ", separator(i == 1), quoted(one), figure[one]
    printf "\"unit\": %s}", quoted(unit[one])
  }
  printf "\n  ],\n  \"machine\": {"
  for (i = 1; i <= n_facts; ++i) printf "%s    %s: %s", separator(i == 1), quoted(facts[i]), quoted(fact[facts[i]])
  printf "\n  }\n}\n"
}

function cell(value) { gsub(/\|/, "/", value); return value }
function marked(result) { return result == "passed" ? result : "**" result "**" }
function row(title, entry) {
  return title " | " marked(result[entry]) " | " seconds[entry] " | " cell(reason[entry]) " |"
}
function print_page(    i, j, one) {
  printf "# gpu-check on %s\n\nCalls:", fact["host"]
  for (i = 1; i <= calls; ++i) printf " %s", call[i]
  print "\n\n## Targets\n\n| target | limit | measured | met |\n|---|---|---|---|"
  for (i = 1; i <= targets; ++i) {
    one = met(target[i])
    print "| " meaning[target[i]] " | " limit[target[i]] " " target_unit[target[i]] " | " \
      (one == "null" ? "" : figure[target[i]]) " | " \
      (one == "null" ? "not measured" : one == "true" ? "yes" : "**no**") " |"
  }
  print "\n## Stages\n\n| stage | result | s |  |\n|---|---|---|---|"
  for (i = 1; i <= n_stages; ++i) if (stages[i] != "") print row("| " stages[i], i)
  print "\n## Cases\n\n| stage | case | result | s |  |\n|---|---|---|---|---|"
  for (i = 1; i <= n_stages; ++i) {
    if (stages[i] == "") continue
    for (j = 1; j <= cases[i]; ++j) print row("| " stages[i] " | " cell(name[i, j]), i SUBSEP j)
  }
  print "\n## Figures\n\n| figure | measured | unit |\n|---|---|---|"
  for (i = 1; i <= n_figures; ++i) print "| " figures[i] " | " figure[figures[i]] " | " unit[figures[i]] " |"
  print "\n## Machine\n\n| fact |  |\n|---|---|"
  for (i = 1; i <= n_facts; ++i) print "| " cell(facts[i]) " | " cell(fact[facts[i]]) " |"
}
