"""Building for a GPU, and a folder that brings all that a machine without tools lacks."""
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from pathlib import Path

TESTS = ("core", "ops", "devices", "nccl", "models", "nn")  # what tells most about a GPU first
DATA = Path("/usr/share/datasets/fashion-mnist")
REFERENCES = "tests/models/reference"  # answers that the tests of models compare with
MOST_BYTES = 60 << 20
ARCHIVE = "programs.tar.gz"
# CUDA's are that machine's own, and so are the C and C++ libraries, which CUDA's share; the others are taken along.
OF_THE_MACHINE = ("libcuda", "libcudart", "libcudnn", "libcublas", "libnccl", "libc.so", "libm.so", "libpthread",
                  "libdl.so", "librt.so", "libresolv", "ld-linux", "libstdc++", "libgcc_s")


def programs(build):
    """The program and the test programs of a built tree, by name; those that are there."""
    names = {"lockring": "lockring"} | {f"{name} tests": f"lockring_{name}_tests" for name in TESTS}
    found = {}
    for name, file in names.items():
        for path in (build / file, *sorted(build.glob(f"tests/**/{file}"))):
            if path.is_file():
                found.setdefault(name, path)
    return found


def configure_and_build(root, build, *options):
    subprocess.run(["cmake", "-S", root, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DLOCKRING_CUDA=ON",
                    *options], check=True, stdout=sys.stderr)
    listed = subprocess.run(["cmake", "--build", build, "--target", "help"], check=True, text=True,
                            stdout=subprocess.PIPE).stdout
    # Without NCCL there are no tests of it.
    tests = [f"lockring_{name}_tests" for name in TESTS if f"lockring_{name}_tests:" in listed]
    subprocess.run(["cmake", "--build", build, "--target", "lockring", *tests], check=True, stdout=sys.stderr)


def build(root, folder):
    """Unless the tree is built."""
    if "lockring" not in programs(folder):
        configure_and_build(root, folder)


def library_path():
    """Folders of CUDA's libraries: those that Python's packages bring, then the toolkit's."""
    packages = {sysconfig.get_paths()[name] for name in ("purelib", "platlib")} | set(sys.path)
    found = [folder for place in sorted(packages) for folder in sorted(Path(place).glob("nvidia/*/lib"))]
    return [str(folder) for folder in (*found, Path("/usr/local/cuda/lib64")) if folder.is_dir()]


def environment(root):
    """In which the programs find their libraries, and their tests what these compare with; for nothing else, since
    Python brings libraries of its own."""
    own = [str(root / "lib")] if (root / "lib").is_dir() else []
    before = os.environ.get("LD_LIBRARY_PATH", "")
    return os.environ | {"LD_LIBRARY_PATH": ":".join([*own, *library_path(), *filter(None, [before])]),
                         "LOCKRING_MODEL_REFERENCES": str(root / REFERENCES)}


def libraries_of(program):
    """Paths of the shared libraries that the program needs and another machine may lack."""
    text = subprocess.run(["ldd", program], check=True, text=True, stdout=subprocess.PIPE).stdout
    if missing := [line.strip() for line in text.splitlines() if "not found" in line]:
        sys.exit(f"gpu_check: {program} misses libraries: {', '.join(missing)}")
    paths = [Path(line.split("=>")[1].split("(")[0].strip()) for line in text.splitlines() if "=> /" in line]
    return [path for path in paths if not path.name.startswith(OF_THE_MACHINE)]


def gather(root, built, folder):
    """The scripts, the programs of a built tree with their libraries, and the data; the programs compressed, since they
    are a half of it."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as stripped, tarfile.open(folder / ARCHIVE, "w:gz") as archive:
        libraries = {}
        for program in programs(built).values():
            copy = Path(stripped) / program.name
            subprocess.run(["strip", "-o", copy, program], check=True)
            archive.add(copy, f"build/cuda/{program.name}")
            libraries |= {path.name: path.resolve() for path in libraries_of(program)}
        for name, path in libraries.items():
            archive.add(path, f"lib/{name}")
    for part in ("scripts/gpu", "scripts/bench/peers", REFERENCES):
        shutil.copytree(root / part, folder / part, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(root / "scripts/gpu_check", folder / "scripts/gpu_check")
    (folder / "data").mkdir(exist_ok=True)
    for file in DATA.glob("*.gz"):
        shutil.copy(file, folder / "data" / file.name)


def unpack(root):
    """What was gathered, once, where it is; whole or not at all."""
    if not (root / ARCHIVE).exists() or (root / "build").exists():
        return
    partial = Path(tempfile.mkdtemp(prefix="unpacking-", dir=root))
    with tarfile.open(root / ARCHIVE) as archive:
        archive.extractall(partial)
    for part in ("lib", "build"):
        (partial / part).rename(root / part)
    partial.rmdir()


def pack(root, folder):
    """Gathers programs for Hopper alone and without MPI."""
    built = root / "build/gpu_check"
    configure_and_build(root, built, "-DCMAKE_CUDA_ARCHITECTURES=90", "-DLOCKRING_MPI=OFF")
    gather(root, built, folder)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"{folder}: {size / (1 << 20):.1f} MB")
    if size > MOST_BYTES:
        sys.exit(f"gpu_check: more than the {MOST_BYTES >> 20} MB that may be taken along")
