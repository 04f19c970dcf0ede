"""Checks the Dockerfiles by hadolint. Each planted mistake must be found.
Usage: dockerfiles_test.py SOURCE"""

import pathlib
import subprocess
import sys

LABELS = ["version:text", "revision:text", "licenses:spdx"]

# File, text, its replacement, and the hadolint rule that it violates.
PLANTED = r"""
docker/Dockerfile            | USER 1000      | USER root                        | DL3002
docker/Dockerfile            | WORKDIR /work  | WORKDIR work                     | DL3000
docker/Dockerfile            | COPY --from=build | COPY --from=built             | DL3022
docker/Dockerfile            | :bookworm-slim | :latest                          | DL3007
docker/Dockerfile.cuda       | CMD ["--help"] | CMD --help                       | DL3025
docker/Dockerfile.cuda       | "Apache-2.0"   | "Apache"                         | DL3054
docker/Dockerfile.cuda       | image.revision | image.reversion                  | DL3049
docker/Dockerfile.cuda       | userdel        | cd / && userdel                  | DL3003
deploy/kubernetes/Dockerfile | --no-install-recommends |                         | DL3015
deploy/kubernetes/Dockerfile | install -y     | install                          | DL3014
"""


def faults(file, text):
    command = [pathlib.Path(sys.executable).parent / "hadolint", "--no-color", "-"]
    if file.startswith("docker/"):
        command += [f"--require-label=org.opencontainers.image.{label}" for label in LABELS]
    return subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True).stdout


def main():
    (source,) = map(pathlib.Path, sys.argv[1:])
    rows = [[cell.strip() for cell in line.split(" | ")] for line in PLANTED.strip().splitlines()]
    texts = {file: (source / file).read_text() for file, *_ in rows}
    for file, text in texts.items():
        found = faults(file, text)
        assert not found, f"{file}:\n{found}"
    for file, right, wrong, rule in rows:
        assert right in texts[file], f"{file} does not contain: {right}"
        found = faults(file, texts[file].replace(right, wrong, 1))
        assert rule in found, f"{file}: not found: {wrong}\n{found}"
    print(f"{len(texts)} Dockerfiles without faults; {len(rows)} planted mistakes: all found")


if __name__ == "__main__":
    main()
