"""What pyproject.toml cannot say: the kernels in C are compiled where there is a compiler for it.

A build that fails leaves the kernels in torch, which compute the same more slowly.
"""

import platform

from setuptools import Extension, setup

FOLDER = "src/trdec/model/fast"

FLAGS = ["-std=gnu11", "-O3", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math"]

X86 = {
    "_kernels_avx512": ["-march=x86-64-v4", "-mprefer-vector-width=512"],
    "_kernels_avx2": ["-march=x86-64-v3"],
}


def kernels(name: str, flags: list[str]) -> Extension:
    """The kernels as a shared library; it is loaded with ctypes and needs nothing of Python's or torch's headers."""
    return Extension(
        f"trdec.model.fast.{name}",
        [f"{FOLDER}/{source}" for source in ("kernels.c", "small_numbers.c")],
        depends=[f"{FOLDER}/{header}" for header in ("vectors.h", "words.h")],
        extra_compile_args=[*FLAGS, *flags],
        optional=True,
    )


builds = {"_kernels": [], **(X86 if platform.machine() in ("x86_64", "AMD64") else {})}
setup(ext_modules=[kernels(name, flags) for name, flags in builds.items()])
