#!/usr/bin/env bash
# Runs a Python script with packages of PyPI, in an environment that the first run makes.
#   tests/pypi/run.sh FOLDER PACKAGES SCRIPT [ARGUMENT...]
# FOLDER: the environment, with the packages of requirements.txt. PACKAGES: the packages that the script imports,
# separated by spaces. If they cannot be installed, prints the reason in one line and exits with status 77.
set -euo pipefail
folder=$1 packages=$2 requirements=$(dirname "${BASH_SOURCE[0]}")/requirements.txt
shift 2

skip() {
  printf 'skipped: %s\n' "$1"
  exit 77
}

install() {
  rm -rf "$folder" && python3 -m venv "$folder" && "$folder/bin/python" -m pip install --quiet --no-input \
    --disable-pip-version-check --retries 1 --timeout 15 -r "$requirements" && cp "$requirements" "$folder/installed.txt"
}

mkdir -p "$(dirname "$folder")"
exec 9>"$folder.lock"
flock 9
if ! cmp -s "$requirements" "$folder/installed.txt" && ! install >"$folder.log" 2>&1; then
  skip "packages of PyPI cannot be installed: $(tail -n 1 "$folder.log"); see $folder.log"
fi
exec 9>&-
for package in $packages; do
  "$folder/bin/python" -c "import $package" 2>/dev/null ||
    skip "the package $package is missing; $folder/bin/pip install $package"
done
exec "$folder/bin/python" "$@"
