#!/usr/bin/env python3
"""Checks compiled objects.

    objects.py no-shared-symbols OBJECT...   for a newer instruction set: nothing that the linker could choose for others
    objects.py plain OBJECT...               for any x86-64: no AVX instruction

An inline function is compiled into every object that uses it, and the linker keeps one copy for the whole program.
Were that the copy of an object compiled for AVX-512, the program would fail on processors without.
"""
import re
import subprocess
import sys


def shared_symbols(objects):
    for path in objects:
        listing = subprocess.run(["nm", "--demangle", "--defined-only", path], capture_output=True, text=True, check=True)
        for line in listing.stdout.splitlines():
            match = re.match(r"[0-9a-f]+ ([WVu]) (.*)", line)
            if match:
                yield f"{path}: defines {match.group(2)}, which other objects may come to use"


def vector_instructions(objects):
    for path in objects:
        listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], capture_output=True, text=True, check=True)
        for line in listing.stdout.splitlines():
            match = re.match(r"\s*[0-9a-f]+:\s+(v\w+)\s", line)
            if match and match.group(1) not in ("verr", "verw"):
                yield f"{path}: {match.group(1)} needs AVX"


CHECKS = {"no-shared-symbols": shared_symbols, "plain": vector_instructions}


def main():
    findings = list(CHECKS[sys.argv[1]](sys.argv[2:]))
    print(*findings, sep="\n", end="\n" if findings else "")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
