"""What the tree promises about who includes whom, sizes, names and words. A rule takes a Tree and yields findings."""
import json
import re
import statistics
from pathlib import Path

from sources import SOURCE_FOLDERS, Finding, line_of

# core <- ops <- nn <- models <- apps, core <- data <- apps, core <- distributed <- apps
MAY_INCLUDE = {
    "core": {"core"},
    "ops": {"core", "ops"},
    "nn": {"core", "ops", "nn"},
    "models": {"core", "ops", "nn", "models"},
    "data": {"core", "data"},
    "distributed": {"core", "distributed"},
    "apps": set(SOURCE_FOLDERS),
    "fake_cuda": {"core", "ops", "distributed"},
    "docs": set(SOURCE_FOLDERS),
}

# Headers of backends, and the folders (or beginnings of file names) that may see them.
BACKEND_HEADERS = [
    (re.compile(r"<(cuda|cudnn|cublas|curand|nvrtc|nvml|thrust/|cub/)"), ("core/cuda/", "ops/cuda/", "distributed/nccl", "tests/fake_cuda/")),
    (re.compile(r"<nccl"), ("distributed/nccl", "tests/fake_cuda/")),
    (re.compile(r"<mpi\.h>"), ("distributed/",)),
    (re.compile(r"<libxsmm"), ("ops/cpu/",)),
]

# Headers of ours that bring those with them, and who may see them: the folders' own files and their tests.
GPU_FOLDERS = ("core/cuda/", "ops/cuda/", "distributed/nccl")
SEES_GPU_FOLDERS = (*GPU_FOLDERS, "tests/core/cuda", "tests/ops/cuda", "tests/distributed/nccl", "tests/fake_cuda/")

# Seconds each: only .cpp files include them.
SLOW_HEADERS = re.compile(r"<(CLI/|nlohmann/|boost/|yaml-cpp/)")

BACKEND_MACRO = re.compile(r"\b(LOCKRING_(CUDA|AVX512|MPI|NCCL)\w*|__CUDA\w*|__NVCC__|__AVX\w*|__SSE\w*|__FMA__)\b")
BACKEND_FOLDERS = ("core/cuda/", "ops/cuda/", "ops/cpu/simd/", "distributed/nccl")
BACKEND_HEADER = "ops/kernel.h"


def may_include(file):
    """The folders that a file may include from."""
    if file.folder != "tests":
        return MAY_INCLUDE.get(file.folder, set())
    mirrored = file.name.split("/")[1]
    if mirrored == "fake_cuda" and file.name.endswith("_test.cpp"):  # what it is for is the whole program
        return set(SOURCE_FOLDERS) | {f"tests/{folder}" for folder in (*SOURCE_FOLDERS, "support", "fake_cuda")}
    allowed = MAY_INCLUDE.get(mirrored, {"core"} if mirrored == "support" else set(SOURCE_FOLDERS)) | {mirrored}
    return allowed | {f"tests/{folder}" for folder in allowed | {"support"}}


def layering(tree):
    for file in tree.cpp:
        allowed = may_include(file)
        for line, included in file.includes():
            name = included[1:-1]
            if included[0] == '"':
                parts = name.split("/")
                folder = "/".join(parts[:2]) if parts[0] == "tests" else parts[0]
                if not tree.exists(name):
                    yield file.finding(line, f"{included} is not a path from the root of the tree")
                elif name.startswith(GPU_FOLDERS) and not file.name.startswith(SEES_GPU_FOLDERS):
                    yield file.finding(line, f"{included} brings CUDA's headers: include it in {', '.join(GPU_FOLDERS)}")
                elif folder not in allowed:
                    yield file.finding(line, f"{file.name.rsplit('/', 1)[0]} may not include {included}")
                continue
            for header, places in BACKEND_HEADERS:
                if header.match(included) and not file.name.startswith(places):
                    yield file.finding(line, f"{included} belongs to {' and '.join(places)}")
            if SLOW_HEADERS.match(included) and file.path.suffix == ".h" and file.folder != "tests":
                yield file.finding(line, f"{included} is slow to read: include it in .cpp files only")


def includes(tree):
    for file in tree.cpp:
        if file.path.suffix == ".h" and not re.search(r"^#pragma once$", file.text, re.M):
            yield file.finding(1, "a header needs #pragma once")
        own = re.sub(r"(_test)?\.(cpp|cu)$", ".h", file.name)
        own = own.removeprefix("tests/") if file.name.endswith("_test.cpp") and not tree.exists(own) else own
        first = next(file.includes(), (1, ""))
        if own != file.name and tree.exists(own) and first[1] != f'"{own}"':
            yield file.finding(first[0], f'the first include should be its own header, "{own}"')


def backends(tree):
    for file in tree.cpp:
        if file.name.startswith(BACKEND_FOLDERS) or file.name == BACKEND_HEADER:
            continue
        for match in re.finditer(r"^[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif)\b[^\n]*", file.code, re.M):
            if macro := BACKEND_MACRO.search(match.group()):
                yield file.finding(line_of(file.code, match.start()),
                                   f"{macro.group()} is a backend's switch: only {BACKEND_HEADER} and backends test it")


MOST_FILE_LINES = 400
MOST_FUNCTION_LINES = 60
MOST_MEDIAN_LINES = 110


def sizes(tree):
    for file in tree.files:
        if (file.is_cpp or file.path.suffix == ".py") and file.lines > MOST_FILE_LINES:
            yield file.finding(1, f"{file.lines} lines; at most {MOST_FILE_LINES}")
    for file in tree.cpp:
        for function in file.functions:
            if function.lines > MOST_FUNCTION_LINES:
                yield file.finding(function.line, f"{function.name or 'a lambda'} has {function.lines} lines; "
                                                  f"at most {MOST_FUNCTION_LINES}")
    median = statistics.median([file.lines for file in tree.cpp] or [0])
    if median > MOST_MEDIAN_LINES:
        yield Finding(".", 1, f"the median file has {median} lines; at most {MOST_MEDIAN_LINES}")


def test_share(tree, least):
    """Lines of tests for each line of source."""
    tests = sum(file.lines for file in tree.files if file.folder == "tests" and (file.is_cpp or file.name.endswith(".py")))
    source = sum(file.lines for file in tree.cpp if file.folder in SOURCE_FOLDERS)
    if tests < least * source:
        yield Finding("tests", 1, f"{tests} lines for {source} of source: {tests / source:.2f}; at least {least}")


def targets(tree, build):
    """Every .cpp and .cu file is compiled by some target of the build folder, tests among them.

    What is for GPUs is compiled where there is support for them: by the emulated build all of it is.
    """
    commands = json.loads((Path(build) / "compile_commands.json").read_text())
    compiled = {Path(command["file"]).resolve() for command in commands}
    without_gpu = tree.root / "core/no_cuda.cpp" in compiled
    emulated = tree.root / "tests/fake_cuda/runtime.cpp" in compiled
    for file in tree.cpp:
        built_apart = file.name.startswith(("docs/", "tests/fuzz/", "tests/integration/install/"))
        for_gpu = file.name.startswith(SEES_GPU_FOLDERS)
        if file.path.suffix not in (".cpp", ".cu") or file.path in compiled or built_apart:
            continue
        if for_gpu and without_gpu or file.name.startswith("tests/fake_cuda/") and not emulated:
            continue
        if file.name == "core/no_cuda.cpp" and not without_gpu:
            continue
        # Of two files that stand for each other, such as mpi.cpp and no_mpi.cpp, CMake chooses one.
        stem = file.path.name
        twin = file.path.with_name(stem.removeprefix("no_") if stem.startswith("no_") else f"no_{stem}")
        if twin not in compiled:
            yield file.finding(1, "no target compiles this file")


# What a source tree that speaks for itself has no use for. In two halves each, so that this file passes.
LEFTOVERS = [(re.compile(pattern), reason) for pattern, reason in [
    (r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b", "unfinished"),
    (r"(?<![\w.])/(wo" r"rk|ho" r"me|Use" r"rs)/\w", "a path of one's own machine"),
    (r"(?i)\b(iss" r"ue|tick" r"et|pull req" r"uest)s? #?\d", "a number of a tracker"),
    (r"\.\./sha" r"red\b", "a path outside the tree"),
    (r"(?i)\b(chat" r"gpt|cop" r"ilot|cla" r"ude|co-autho" r"red-by)\b", "how the text came to be"),
    (r"^(<{7}|>{7}) ", "a merge conflict"),
]]


def leftovers(tree):
    for file in tree.files:
        for number, line in enumerate(file.text.splitlines(), 1):
            for pattern, reason in LEFTOVERS:
                if match := pattern.search(line):
                    yield file.finding(number, f"'{match.group().strip()}': {reason}")
