#!/usr/bin/env python3
"""Makes a wheel of the bundle, which puts lockstep and lockstep-run on the PATH of a Python environment.

    make_wheel.py VERSION BUNDLE README FOLDER    writes FOLDER/lockstep-VERSION-py3-none-manylinux_....whl

The wheel has no modules for programs: the two commands start those of the bundle, as in the wheels of cmake and ninja.
Its name says for which processor it is, and how new the C library has to be.
"""
import base64
import hashlib
import pathlib
import platform
import sys
import zipfile

# Source of the wheel's module, which replaces its process by a program of the bundle.
MODULE = '''"""Starts lockstep. Has no interface for Python programs."""
import os
import sys


def _start(name):
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bundle", "bin", name)
    os.execv(program, [program, *sys.argv[1:]])


def lockstep():
    _start("lockstep")


def lockstep_run():
    _start("lockstep-run")
'''
ENTRY_POINTS = """[console_scripts]
lockstep = lockstep:lockstep
lockstep-run = lockstep:lockstep_run
"""


def bundle_files(bundle):
    """Files with their names in the wheel. Wheels have no links: a library has the name by which it is loaded."""
    aliases = {}
    for path in bundle.rglob("*"):
        if path.is_symlink():
            aliases.setdefault(path.resolve(), []).append(path)
    for path in sorted(bundle.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        name = min(aliases.get(path.resolve(), [path]), key=lambda alias: len(alias.name))
        yield path, name.relative_to(bundle)


def needed_libc(bundle):
    """The newest version of glibc whose symbols a file of the bundle refers to, such as (2, 36)."""
    versions = []
    for path, _ in bundle_files(bundle):
        libc, version = platform.libc_ver(path)
        if libc == "glibc" and version:
            versions.append(tuple(map(int, version.split("."))))
    if not versions:
        sys.exit("make_wheel.py: no file refers to glibc, so no tag for the wheel")
    return max(versions)


class Wheel:
    def __init__(self, file):
        self.zip = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED)
        self.record = []

    def add(self, name, data, executable=False):
        entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
        entry.external_attr = (0o100755 if executable else 0o100644) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(entry, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(data)}\n")

    def close(self, info):
        name = f"{info}/RECORD"
        self.zip.writestr(name, "".join(self.record) + f"{name},,\n")
        self.zip.close()


def main():
    version, bundle, readme, folder = sys.argv[1], *map(pathlib.Path, sys.argv[2:])
    processor = bundle.name.rpartition("-")[2]
    tag = f"py3-none-manylinux_{'_'.join(map(str, needed_libc(bundle)[:2]))}_{processor}"
    info = f"lockstep-{version}.dist-info"
    file = folder / f"lockstep-{version}-{tag}.whl"
    for old in folder.glob("lockstep-*.whl"):
        old.unlink()
    wheel = Wheel(file)
    wheel.add("lockstep/__init__.py", MODULE.encode())
    for path, name in bundle_files(bundle):
        wheel.add(f"lockstep/bundle/{name}", path.read_bytes(), executable=path.stat().st_mode & 0o100 != 0)
    wheel.add(f"{info}/METADATA", (f"Metadata-Version: 2.1\nName: lockstep\nVersion: {version}\n"
                                   "Summary: Distributed data-parallel training with the same bits on any number of "
                                   "ranks\nRequires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n"
                                   + readme.read_text()).encode())
    wheel.add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: lockstep\nRoot-Is-Purelib: false\nTag: {tag}\n".encode())
    wheel.add(f"{info}/entry_points.txt", ENTRY_POINTS.encode())
    wheel.close(info)
    print(f"{file}: {file.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
