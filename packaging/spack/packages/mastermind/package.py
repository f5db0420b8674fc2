# SPDX-License-Identifier: (Apache-2.0 OR MIT)
import os

from spack.package import *


class Mastermind(Package):
    """Measures, models and chooses the components of high-performance applications."""

    license("Apache-2.0 OR MIT")

    # Nothing is fetched: the folder that this recipe lies in, four levels up, is the root of the sources.
    has_code = False

    version("main")

    variant("mpi", default=True, description="Build a back end for the MPI of the specification")

    depends_on("rust@1.89:", type="build")
    depends_on("c", type="build")
    depends_on("llvm +clang", type="build", when="+mpi")
    depends_on("mpi", when="+mpi")

    conflicts("platform=darwin", msg="Linux only")
    conflicts("platform=windows", msg="Linux only")

    @property
    def build_directory(self):
        return os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", "..", ".."))

    def install(self, spec, prefix):
        with working_dir(self.build_directory):
            cargo = which("cargo", required=True)
            target = join_path(self.stage.path, "target")
            with set_env(CARGO_TARGET_DIR=target):
                cargo("xtask", "install", "--no-install", "--prefix", prefix)
