"""Build the wheels for Linux on x86-64 and on ARM: the package, and compiled what no program changes.

    python tools/build_wheel.py [--out dist] [--machines x86-64-v3,aarch64] [--jaxlib 0.12.0.1]

It needs ziglang, JAX and git; pip gets setuptools from PyPI. What XLA calls is compiled for the installed jaxlib, and
for the newest one of PyPI, or those that `--jaxlib` names. The objects are linked with no C library; `check_symbols`
links them once more with glibc 2.17, so that the wheel's tag is true.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from shlo_disc.runtime.building import prebuilt
from shlo_disc.runtime.building.build import Builder
from shlo_disc.runtime.building.cache import open_cache
from shlo_disc.runtime.building.machines import PREBUILT, TargetMachine
from shlo_disc.runtime.building.toolchain import find_compiler
from shlo_disc.runtime.cpu.saved_code import XLA_HANDLER
from shlo_disc.runtime.cuda.build import XLA_HANDLER as XLA_GPU_HANDLER
from shlo_disc.runtime.threads import available_threads
from shlo_disc.runtime.xla.library import xla_interface

ROOT = Path(__file__).resolve().parent.parent
GLIBC = "2.17"
PIP, QUIETLY = (sys.executable, "-m", "pip"), ("--quiet", "--disable-pip-version-check")
OPTIMIZE = 3  # the default of `CompileOptions`


def tag_of(family: str) -> str:
    """The platform tag of the wheel for a family of machines."""
    return f"manylinux_{GLIBC.replace('.', '_')}_{family}"


def build_wheel(out: Path, machines: Sequence[TargetMachine], jaxlib: Sequence[str]) -> Path:
    """Build the wheel with the objects of machines of one family, and some versions of jaxlib; return its path."""
    (family,) = {machine.family for machine in machines}
    with tempfile.TemporaryDirectory() as name:
        source = Path(name, "source")
        _copy_sources(source)
        objects = _objects(machines, {xla_interface(), *map(_interface_of, jaxlib)})
        folder = source / "shlo_disc" / prebuilt.FOLDER.name
        prebuilt.write(folder, objects)
        # What `import shlo_disc` compares with the platform that it runs on.
        (folder / "platform").write_text(f"linux {family} glibc\n")
        # Read by setuptools: the code is for one platform, and for any Python 3.
        (source / "setup.cfg").write_text(f"[bdist_wheel]\nplat_name = {tag_of(family)}\n")
        made = Path(name, "made")
        subprocess.run([*PIP, "wheel", *QUIETLY, "--no-deps", "--wheel-dir", made, source], check=True)
        (wheel,) = made.iterdir()
        out.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(wheel, out))


def check_symbols(objects: Iterable[tuple[bytes, str]], family: str) -> None:
    """Link the objects of a machine of a family with glibc 2.17 and nothing else.

    Raises `CalledProcessError` if they need what it does not have.
    """
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        kernels = work / "kernels.c"  # what libraries need of the kernels that they are linked with
        kernels.write_text("const long long shlo_cache_bytes[3] = {1, 1, 1};\n")
        for number, (data, suffix) in enumerate(objects):
            (work / f"{number}{suffix}").write_bytes(data)
        command = [find_compiler("zig").command[0], "cc", "-target", f"{family}-linux-gnu.{GLIBC}", "-shared"]
        strict = ("-nostdlib", "-lc", "-lm", "-Wl,-z,defs", "-Wl,--no-allow-shlib-undefined")
        caches = dict.fromkeys(("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"), str(work / "zig"))
        files = [kernels, *sorted(work.glob("*.o")), *sorted(work.glob("*.so"))]
        subprocess.run([*command, *strict, *files, "-o", work / "check"], check=True, env={**os.environ, **caches})


def _copy_sources(target: Path) -> None:
    """Copy what git tracks of the package, as it is now, to a folder: no objects of earlier builds are among it."""
    names = ("shlo_disc", "pyproject.toml", "README.md", "LICENSE")
    tracked = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *names]
    listed = subprocess.run(tracked, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for file in filter(None, listed.split("\0")):
        if (ROOT / file).is_file():
            (target / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, target / file)


def _interface_of(version: str) -> str:
    """The text of XLA's header in a version of jaxlib, "newest" among them."""
    wanted = "jaxlib" if version == "newest" else f"jaxlib=={version}"
    platform = ("--platform", "manylinux_2_27_x86_64", "--python-version", "3.12", "--only-binary", ":all:")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([*PIP, "download", *QUIETLY, "--no-deps", *platform, "--dest", folder, wanted], check=True)
        (wheel,) = Path(folder).iterdir()
        with zipfile.ZipFile(wheel) as archive:
            return archive.read("jaxlib/include/xla/ffi/api/c_api.h").decode()


def _objects(machines: Sequence[TargetMachine], interfaces: Collection[str]) -> Mapping[str, tuple[bytes, str]]:
    handlers = [(name, text) for name in (XLA_HANDLER, XLA_GPU_HANDLER) for text in sorted(interfaces)]
    found = dict[str, tuple[bytes, str]]()
    with ThreadPoolExecutor(available_threads()) as pool:
        for machine in machines:
            builder = Builder(find_compiler("zig", machine=machine), OPTIMIZE, open_cache(), pool)
            objects = builder.prebuild(handlers)
            check_symbols(objects.values(), machine.family)
            found |= objects
    return found


def main() -> None:
    """Build what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("dist"), help="the folder of the wheels (default: dist)")
    known = {machine.name: machine for machine in PREBUILT}
    parser.add_argument("--machines", default=",".join(known), help="a list (default: %(default)s)")
    parser.add_argument("--jaxlib", default="newest", help="versions, beside the installed one (default: %(default)s)")
    arguments = parser.parse_args()
    machines = [known[name] for name in arguments.machines.split(",")]
    for family in dict.fromkeys([machine.family for machine in machines]):
        of_family = [machine for machine in machines if machine.family == family]
        wheel = build_wheel(arguments.out, of_family, list(filter(None, arguments.jaxlib.split(","))))
        print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
