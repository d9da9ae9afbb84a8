#!/usr/bin/env python3
"""Checks the tree against one rule, and prints a line for each finding.

    lint.py RULE ROOT [--build FOLDER] [--least SHARE]

Exit status: 0 when the rule holds, 1 with findings, 77 when it cannot be checked here.
"""
import argparse
import re
import shutil
import subprocess
import sys

import names
import rules
from sources import Tree

SKIPPED = 77
# Another version formats otherwise.
CLANG_FORMAT = "clang-format-14"

RULES = {
    "layering": lambda tree, options: rules.layering(tree),
    "includes": lambda tree, options: rules.includes(tree),
    "backends": lambda tree, options: rules.backends(tree),
    "names": lambda tree, options: names.names(tree),
    "sizes": lambda tree, options: rules.sizes(tree),
    "test_share": lambda tree, options: rules.test_share(tree, options.least),
    "targets": lambda tree, options: rules.targets(tree, options.build),
    "leftovers": lambda tree, options: rules.leftovers(tree),
    "format": lambda tree, options: unformatted(tree),
}


def unformatted(tree):
    files = {str(file.path): file for file in tree.cpp}
    checked = subprocess.run([CLANG_FORMAT, "--dry-run", *files], capture_output=True, text=True, check=True)
    reported = set()
    for match in re.finditer(r"^(.+?):(\d+):\d+: warning: .*-Wclang-format-violations", checked.stderr, re.M):
        path, line = match.groups()
        if path not in reported:
            reported.add(path)
            yield files[path].finding(int(line), f"run {CLANG_FORMAT} -i on it")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rule", choices=RULES)
    parser.add_argument("root")
    parser.add_argument("--build", help="for targets: the folder of compile_commands.json")
    parser.add_argument("--least", type=float, default=0.6, help="for test_share: lines of tests for a line of source")
    options = parser.parse_args()
    if options.rule == "format" and shutil.which(CLANG_FORMAT) is None:
        print(f"skipped: {CLANG_FORMAT} is not installed")
        return SKIPPED
    findings = list(RULES[options.rule](Tree(options.root), options))
    print(*findings, sep="\n", end="\n" if findings else "")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
