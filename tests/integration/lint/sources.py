"""The files of the tree, and just enough understanding of C++ to measure and name things in them."""
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

SOURCE_FOLDERS = ("core", "ops", "nn", "models", "data", "distributed", "apps")
CPP_SUFFIXES = (".h", ".cpp", ".cu", ".cuh")

# Folders that hold no source of ours, by name or by a file in them.
SKIPPED_NAMES = {"build", "__pycache__"}
SKIPPED_MARKS = ("CMakeCache.txt", "pyvenv.cfg")

COMMENT_OR_STRING = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | R"(?P<mark>\w*)\(.*?\)(?P=mark)" | "(?:\\.|[^"\\\n])*"
        | (?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+'""", re.S | re.X)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)


@dataclass(frozen=True)
class Finding:
    path: str
    line: int
    message: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.message}"


@dataclass(frozen=True)
class Function:
    name: str      # "" where there is none (a lambda at namespace scope)
    header: str    # what stands before the body
    line: int      # of the header's first word
    lines: int     # from there to the closing brace


class SourceFile:
    """One text file; `name` is its path from the root, with slashes."""

    def __init__(self, root, path):
        self.path = path
        self.name = path.relative_to(root).as_posix()
        self.folder = self.name.split("/")[0] if "/" in self.name else ""
        self.text = path.read_text(encoding="utf-8", errors="replace")

    @property
    def is_cpp(self):
        return self.path.suffix in CPP_SUFFIXES

    @property
    def lines(self):
        return self.text.count("\n")

    @cached_property
    def code(self):
        """The text without comments and the contents of strings, line for line."""
        def blank(match):
            text = match.group()
            return "\n" * text.count("\n") if text.startswith("/") else '""' + "\n" * text.count("\n")
        return COMMENT_OR_STRING.sub(blank, self.text)

    @cached_property
    def functions(self):
        return list(find_functions(without_directives(self.code)))

    def includes(self):
        """(line, what is included, with its quotes or brackets)"""
        for match in re.finditer(r'^[ \t]*#[ \t]*include[ \t]*("[^"\n]+"|<[^>\n]+>)', self.text, re.M):
            yield line_of(self.text, match.start()), match.group(1)

    def finding(self, line, message):
        return Finding(self.name, line, message)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def without_directives(code):
    """Blanks preprocessor lines, and all branches of a conditional but its first, so that braces balance."""
    kept = []
    skipping = [False]
    position = 0
    for match in DIRECTIVE.finditer(code):
        between = code[position:match.start()]
        kept.append("\n" * between.count("\n") if any(skipping) else between)
        directive = match.group().lstrip(" \t#")
        if directive.startswith("if"):
            skipping.append(False)
        elif directive.startswith("el"):
            skipping[-1] = True
        elif directive.startswith("endif") and len(skipping) > 1:
            skipping.pop()
        kept.append("\n" * match.group().count("\n"))
        position = match.end()
    kept.append(code[position:])
    return "".join(kept)


CONTAINER = re.compile(r"(?:^|[\s>\]])(?:namespace|class|struct|union|enum|extern\s*\"\")\b(?![^{]*\)\s*$)")


def opens_function(header, after):
    """Whether a brace behind `header`, outside functions, opens a function's body; `after` follows its end."""
    if CONTAINER.search(re.sub(r"\btemplate\s*<[^{]*?>", " ", header)) and not header.rstrip().endswith(")"):
        return False
    if "(" not in header or re.search(r"=\s*$", header):
        return False
    # A brace in a constructor's list of members: inside an argument, or another member or the body follows.
    return header.count("(") == header.count(")") and not re.match(r"\s*[,{]", after)


def function_name(header):
    before = header[:header.index("(")]
    if "=" in before and "operator" not in before:
        return ""
    match = re.search(r"(operator\s*[^\s\w]+|~?\w+)\s*$", before)
    return match.group(1) if match else ""


def closing_brace(code, opening):
    depth = 0
    for match in re.compile(r"[{}]").finditer(code, opening):
        depth += 1 if match.group() == "{" else -1
        if depth == 0:
            return match.start()
    return len(code)


def find_functions(code):
    """Functions outside functions, in order: free ones, members, and test bodies."""
    position = start = 0
    while (match := re.compile(r"[{};]").search(code, position)) is not None:
        position = match.end()
        if match.group() != "{":
            start = position
            continue
        header = re.sub(r"^(?:\s|(?:public|protected|private)\s*:(?!:))+", "", code[start:match.start()])
        end = closing_brace(code, match.start())
        if opens_function(header, code[end + 1:end + 200]):
            first = line_of(code, match.start() - len(header.rstrip()) - len(code[:match.start()]) +
                            len(code[:match.start()].rstrip()))
            yield Function(function_name(header), header, first, line_of(code, end) - first + 1)
            position = start = end + 1
        elif re.search(CONTAINER, header) and "=" not in re.sub(r"<[^{]*?>", "", header):
            start = position  # look inside
        else:
            position = end + 1  # an initialiser: part of a longer header


def walk(root):
    for path in sorted(root.iterdir()):
        if path.name.startswith(".") and path.name != ".ci" or path.name in SKIPPED_NAMES or path.is_symlink():
            continue
        if path.is_dir():
            if not any((path / mark).exists() for mark in SKIPPED_MARKS):
                yield from walk(path)
        else:
            yield path


def is_text(path):
    return b"\0" not in path.read_bytes()[:4096]


class Tree:
    def __init__(self, root):
        self.root = Path(root).resolve()
        self.files = [SourceFile(self.root, path) for path in walk(self.root) if is_text(path)]

    @property
    def cpp(self):
        return [file for file in self.files if file.is_cpp]

    def exists(self, name):
        return (self.root / name).is_file()
