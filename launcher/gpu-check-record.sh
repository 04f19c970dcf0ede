# The record of gpu-check.sh, and the files made from it: facts, figures and steps, one per line with tabs, in the folder
# $work.
# shellcheck shell=bash
# shellcheck disable=SC2154 # work, output and started are gpu-check.sh's

one_line() { printf '%s' "$1" | tr '\t\n' '  '; }
fact() { [[ -z $2 ]] || printf '%s\t%s\n' "$1" "$(one_line "$2")" >>"$work/facts"; } # name value
figure() { # name value unit [wanted, as "<= 60"]
  [[ $2 =~ ^[-+0-9.e]+$ ]] || return 0
  local met=
  if [[ -n ${4:-} ]]; then met=$(awk "BEGIN {print ($2 ${4}) ? \"yes\" : \"no\"}"); fi
  printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "${4:-}" "$met" >>"$work/figures"
  echo "figure: $1 $2 $3"
}
figure_of() { awk -F '\t' -v name="$1" '$1 == name {value = $2} END {if (value != "") print value}' "$work/figures"; }
# Records the quotient of two figures, if both were measured.
quotient() { # name over under [wanted]
  local over under
  over=$(figure_of "$2") under=$(figure_of "$3")
  [[ -n $over && -n $under ]] || return 0
  figure "$1" "$(awk "BEGIN {printf \"%.3f\", $over / $under}")" "" "${4:-}"
}

write_json() {
  awk -F '\t' -v started="$started" -v seconds="$SECONDS" '
    function text(s) { gsub(/\\/, "\\\\", s); gsub(/"/, "\\\"", s); gsub(/[\001-\037]/, " ", s); return "\"" s "\"" }
    function value(s) { return s ~ /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$/ ? s : text(s) }
    function rows(list, n,    i, out) { for (i = 1; i <= n; ++i) out = out (i > 1 ? ",\n" : "") "    " list[i]; return out }
    FILENAME ~ /facts$/ { facts[++f] = text($1) ": " value($2) }
    FILENAME ~ /steps$/ { steps[++s] = "{\"name\": " text($1) ", \"result\": " text($2) ", \"seconds\": " $3 ", \"reason\": " text($4) "}" }
    FILENAME ~ /figures$/ { figures[++g] = "{\"name\": " text($1) ", \"value\": " value($2) ", \"unit\": " text($3) ($4 == "" ? "" : ", \"wanted\": " text($4) ", \"met\": " ($5 == "yes" ? "true" : "false")) "}" }
    END {
      printf "{\n  \"started\": %s,\n  \"seconds\": %d,\n", text(started), seconds
      printf "  \"machine\": {\n%s\n  },\n  \"steps\": [\n%s\n  ],\n  \"figures\": [\n%s\n  ]\n}\n", rows(facts, f), rows(steps, s), rows(figures, g)
    }' "$work/facts" "$work/steps" "$work/figures" >"$output/gpu-check.json"
}
write_summary() {
  {
    echo "# gpu-check on $(hostname), $started"
    echo
    echo "| step | result | s | |"
    echo "|---|---|---|---|"
    awk -F '\t' '{gsub(/\|/, "\\|", $4); printf "| %s | %s | %s | %s |\n", $1, $2 == "failed" ? "**failed**" : $2, $3, $4}' "$work/steps"
    if [[ -s $work/figures ]]; then
      echo
      echo "| figure | measured | wanted | met |"
      echo "|---|---|---|---|"
      awk -F '\t' '{printf "| %s | %s %s | %s | %s |\n", $1, $2, $3, $4, $5 == "no" ? "**no**" : $5}' "$work/figures"
    fi
    echo
    echo "| machine | |"
    echo "|---|---|"
    awk -F '\t' '{gsub(/\|/, "\\|", $2); printf "| %s | %s |\n", $1, $2}' "$work/facts"
    if [[ -s $output/doctor.txt ]]; then
      echo
      sed 's/^/    /' "$output/doctor.txt"
    fi
  } >"$output/gpu-check.md"
}
