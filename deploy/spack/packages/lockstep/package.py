# Builds the newest commit of the checkout that this file is in, for CPUs:
#   spack repo add deploy/spack && spack install lockstep
import pathlib

from spack.package import *


class Lockstep(CMakePackage):
    """Distributed data-parallel training of neural networks, with the same bits on any number of ranks, hosts and
    threads, and across restarts."""

    git = pathlib.Path(__file__).resolve().parents[4].as_uri()
    license("Apache-2.0")

    version("main", branch="main")

    variant("protobuf", default=True, description="Event files for TensorBoard")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpi")
    depends_on("boost@1.74: +program_options")
    depends_on("nlohmann-json@3.11:")
    depends_on("fmt")
    depends_on("hwloc")
    depends_on("highway")
    depends_on("xxhash")
    depends_on("libdeflate")
    depends_on("libjpeg-turbo")
    depends_on("libpng")
    depends_on("libwebp")
    depends_on("libarchive")
    depends_on("openssl")
    depends_on("protobuf", when="+protobuf")

    def cmake_args(self):
        return [
            self.define("LOCKSTEP_CUDA", False),
            self.define("LOCKSTEP_ONNX", False),  # needs onnx.proto, which Spack's onnx does not install
            self.define_from_variant("LOCKSTEP_PROTOBUF", "protobuf"),
        ]
