"""The rule on names: files and functions snake_case, types PascalCase, constants kPascal, members with a trailing
underscore, macros LOCKRING_UPPER. Quick patterns for every build; .clang-tidy has the thorough form."""
import re

from sources import closing_brace, line_of, without_directives

SNAKE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*$")
PASCAL = re.compile(r"[A-Z][A-Za-z0-9]*$")
CONSTANT = re.compile(r"k[A-Z0-9][A-Za-z0-9]*$")
NAMESPACES = re.compile(r"[a-z0-9_]+(::([a-z0-9_]+|LOCKRING_ISA))*$")
MACRO = re.compile(r"LOCKRING_[A-Z0-9_]+$")
FILE = re.compile(r"[a-z0-9]+(_[a-z0-9]+)*\.(h|cpp|cu|cuh|py)$")

# Names that others fixed: GoogleTest's fixtures, libFuzzer's entry, yaml-cpp's events and the traits of the standard
# library.
FOREIGN_FUNCTIONS = {"SetUp", "TearDown", "SetUpTestSuite", "TearDownTestSuite", "PrintTo", "LLVMFuzzerTestOneInput",
                     "OnDocumentStart", "OnDocumentEnd", "OnNull", "OnScalar", "OnAlias", "OnSequenceStart",
                     "OnSequenceEnd", "OnMapStart", "OnMapEnd"}
# The test double of CUDA, whose every name is CUDA's.
FOREIGN_FOLDER = "tests/fake_cuda/"
FOREIGN_CONSTANTS = {"value"}
FOREIGN_NAMESPACES = {"CLI"}

TYPE = re.compile(r"\b(?:class|struct|union|enum(?:\s+class|\s+struct)?)\s+(?:alignas\([^)]*\)\s*)?(\w+)\s*"
                  r"(?:final\s*)?(?:<[^;{]*>\s*)?(?::[^:;{][^;{]*)?\{")
ALIAS = re.compile(r"\busing\s+(\w+)\s*=")
CONSTEXPR = re.compile(r"\bconstexpr\s+(?!if\b)[\w:<>,*&\s]*?[\s*&>](\w+)\s*(?:\[[^\]]*\]\s*)?[={]")
NAMESPACE = re.compile(r"\bnamespace\s+(\w+(?:::\w+)*)\s*\{")
DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.M)
MEMBER = re.compile(r"[\w:<>,*&\s]+[\s*&>]([a-z]\w*)\s*(?:\[[^\]]*\]\s*)?(?:=[^(]*)?$")
NO_MEMBER = re.compile(r"(static|using|friend|enum|class|struct|template|typedef|return)\b")


def names(tree):
    for file in tree.files:
        if file.name.startswith(FOREIGN_FOLDER):
            continue
        if (file.is_cpp or file.path.suffix == ".py") and not FILE.match(file.path.name):
            yield file.finding(1, f"{file.path.name}: file names are snake_case")
    for file in tree.cpp:
        if file.name.startswith(FOREIGN_FOLDER):
            continue
        code = without_directives(file.code)
        yield from wrong(file, file.code, DEFINE, MACRO, "macros are LOCKRING_UPPER")
        yield from wrong(file, code, TYPE, PASCAL, "types are PascalCase")
        yield from wrong(file, code, ALIAS, PASCAL, "types are PascalCase")
        yield from wrong(file, code, NAMESPACE, NAMESPACES, "namespaces are snake_case", FOREIGN_NAMESPACES)
        yield from wrong(file, code, CONSTEXPR, CONSTANT, "constants are kPascal", FOREIGN_CONSTANTS)
        yield from function_names(file)
        yield from member_names(file, code)


def wrong(file, code, pattern, good, message, exceptions=frozenset()):
    for match in pattern.finditer(code):
        name = match.group(1)
        if not good.match(name) and name not in exceptions:
            yield file.finding(line_of(code, match.start(1)), f"{name}: {message}")


def function_names(file):
    for function in file.functions:
        name = function.name.lstrip("~")
        if not name or name.startswith("operator") or SNAKE.match(name) or name in FOREIGN_FUNCTIONS:
            continue
        before = re.sub(r"\btemplate\s*<[^{]*?>\s*", "", function.header[:function.header.index("(")])
        is_constructor = re.match(r"\s*(?:\[\[\w+\]\]|explicit|inline|constexpr|virtual|\w+(?:<[^>]*>)?::|\s)*~?\w+\s*$",
                                  before) and PASCAL.match(name)
        is_macro = name.isupper()  # TEST_F(...)
        is_reserved = name.startswith("__")  # a hook of the compiler's run time
        if not (is_constructor or is_macro or is_reserved):
            yield file.finding(function.line, f"{name}: functions are snake_case")


def member_names(file, code):
    """Private data members: what a class declares behind `private:`, or before any label."""
    for match in re.finditer(r"^[ \t]*class\s+\w+[^;{()]*\{", code, re.M):
        private = True
        position = match.end()
        for statement in flat(code[match.end():closing_brace(code, match.end() - 1)]).split(";"):
            labels = re.findall(r"\b(public|protected|private)\s*:(?!:)", statement)
            private = labels[-1] == "private" if labels else private
            text = re.sub(r".*\b(?:public|protected|private)\s*:(?!:)", "", statement, flags=re.S).strip()
            member = MEMBER.match(text)
            if private and member and not NO_MEMBER.match(text) and not member.group(1).endswith("_"):
                line = line_of(code, position + statement.rindex(member.group(1)))
                yield file.finding(line, f"{member.group(1)}: private members end with an underscore")
            position += len(statement) + 1


def flat(body):
    """A class body with each pair of braces and its contents turned into semicolons and line ends."""
    count = 1
    while count > 0:
        body, count = re.subn(r"\{[^{}]*\}", lambda pair: re.sub(r"[^\n]", ";", pair.group()), body)
    return body
