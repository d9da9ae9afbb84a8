#!/usr/bin/env python3
"""Every rule finds a violation that is put in front of it, and passes the same tree without."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import lint
import names
import objects
import rules
from sources import SourceFile, Tree, find_functions, without_directives

CLEAN = {
    "core/thing.h": "#pragma once\n\n#include <vector>\n\nclass Thing {\n public:\n  int size() const;\n\n private:\n"
                    "  int size_ = 0;\n};\n",
    "core/thing.cpp": '#include "core/thing.h"\n\n#include <utility>\n\nint Thing::size() const { return size_; }\n',
    "ops/double.h": '#pragma once\n\n#include "core/thing.h"\n',
    "tests/core/thing_test.cpp": '#include "core/thing.h"\n\nTEST(Thing, IsEmpty) {\n  EXPECT_EQ(Thing().size(), 0);\n}\n',
    "build/other.cpp": "class wrong_name {};\n",
}


class LintTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)
        for name, text in CLEAN.items():
            self.write(name, text)

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def expect(self, rule, *findings):
        """The rule's findings begin with the given texts, one each."""
        found = [str(finding) for finding in rule(Tree(self.root))]
        self.assertEqual(len(found), len(findings), found)
        for actual, expected in zip(found, findings):
            self.assertTrue(actual.startswith(expected), f"{actual}\nshould begin with\n{expected}")

    def test_the_clean_tree_passes(self):
        for rule in (rules.layering, rules.includes, rules.backends, rules.sizes, rules.leftovers, names.names):
            with self.subTest(rule.__name__):
                self.expect(rule)

    def test_layering(self):
        self.write("core/up.cpp", '#include "ops/double.h"\n')
        self.write("data/ops.cpp", '#include "core/thing.h"\n#include "ops/double.h"\n')
        self.write("nn/backend.h", "#include <cuda_runtime.h>\n#include <mpi.h>\n#include <nccl.h>\n")
        self.write("nn/near.cpp", '#include "near.h"\n')
        self.write("nn/slow.h", "#include <CLI/CLI.hpp>\n#include <nlohmann/json.hpp>\n")
        self.write("ops/cuda/fine.cu", '#include "ops/double.h"\n#include <cuda_runtime.h>\n')
        self.write("ops/cuda/own.h", "#pragma once\n")
        self.write("nn/through.cpp", '#include "ops/cuda/own.h"\n')
        self.write("tests/fake_cuda/include/cudnn.h", "#include <cuda_runtime.h>\n")
        self.write("tests/fake_cuda/streams.cpp", '#include "ops/cuda/own.h"\n#include "nn/slow.h"\n')
        self.write("tests/fake_cuda/streams_test.cpp", '#include "ops/cuda/own.h"\n#include "nn/slow.h"\n')
        self.write("tests/nn/streams_test.cpp", '#include "ops/cuda/own.h"\n#include <cublasLt.h>\n')
        self.write("distributed/mpi.cpp", "#include <mpi.h>\n")
        self.write("tests/core/far_test.cpp", '#include "ops/double.h"\n')
        self.expect(rules.layering, "core/up.cpp:1: core may not include", "data/ops.cpp:2: data may not include",
                    "nn/backend.h:1: <cuda_runtime.h> belongs to", "nn/backend.h:2: <mpi.h> belongs to",
                    "nn/backend.h:3: <nccl.h> belongs to", 'nn/near.cpp:1: "near.h" is not a path',
                    "nn/slow.h:1: <CLI/CLI.hpp> is slow", "nn/slow.h:2: <nlohmann/json.hpp> is slow",
                    'nn/through.cpp:1: "ops/cuda/own.h" brings', "tests/core/far_test.cpp:1: tests/core may not include",
                    'tests/fake_cuda/streams.cpp:2: tests/fake_cuda may not include "nn/slow.h"',
                    'tests/nn/streams_test.cpp:1: "ops/cuda/own.h" brings',
                    "tests/nn/streams_test.cpp:2: <cublasLt.h> belongs to")

    def test_includes(self):
        self.write("core/open.h", "#include <vector>\n")
        self.write("core/thing.cpp", '#include <vector>\n#include "core/thing.h"\n')
        self.write("tests/core/thing_test.cpp", '#include <vector>\n#include "core/thing.h"\n')
        self.expect(rules.includes, "core/open.h:1: a header needs #pragma once", "core/thing.cpp:1: the first include",
                    "tests/core/thing_test.cpp:1: the first include")

    def test_backends(self):
        self.write("nn/switch.cpp", "// #ifdef LOCKRING_CUDA\n#if defined(LOCKRING_CUDA)\n#endif\n#ifdef __AVX512F__\n#endif\n")
        self.write("ops/kernel.h", "#pragma once\n#ifdef LOCKRING_CUDA\n#endif\n")
        self.write("ops/cuda/fine.cpp", "#ifdef __CUDA_ARCH__\n#endif\n")
        self.expect(rules.backends, "nn/switch.cpp:2: LOCKRING_CUDA", "nn/switch.cpp:4: __AVX512F__")

    def test_names(self):
        self.write("core/CamelCase.cpp", "")
        self.write("core/bad.cpp", """
namespace Wrong {
#define SHORT 1
struct wrong_type {
  int plain;
};
using wrong_alias = int;
constexpr int wrong_constant = 3;
constexpr int kFine = 3;
int wrongFunction(int a) { return a; }
class Fine : public wrong_type {
  int first;
 public:
  Fine() : first(0), second{1} {}
  void wrongMethod() const { return; }
  int open = 0;
 private:
  void f() { int local; }
  int second{0};
  int third_;
};
}
""")
        self.expect(names.names, "core/CamelCase.cpp:1: CamelCase.cpp: file names", "core/bad.cpp:3: SHORT: macros",
                    "core/bad.cpp:4: wrong_type: types", "core/bad.cpp:7: wrong_alias: types",
                    "core/bad.cpp:2: Wrong: namespaces", "core/bad.cpp:8: wrong_constant: constants",
                    "core/bad.cpp:10: wrongFunction: functions", "core/bad.cpp:15: wrongMethod: functions",
                    "core/bad.cpp:12: first: private members", "core/bad.cpp:19: second: private members")

    def test_sizes(self):
        self.write("core/long.cpp", "int x;\n" * 401)
        self.write("core/long_script.py", "x = 1\n" * 401)
        body = "  ++a;\n" * 59
        self.write("core/function.cpp", f"void most(int a) {{\n{body[:-7]}}}\n\nvoid more(int a)\n{{\n{body}}}\n")
        self.expect(rules.sizes, "core/long.cpp:1: 401 lines; at most 400", "core/long_script.py:1: 401 lines",
                    "core/function.cpp:62: more has 62 lines; at most 60")

    def test_median_size(self):
        for number in range(5):
            self.write(f"core/file_{number}.cpp", "int x;\n" * 150)
        self.expect(rules.sizes, ".:1: the median file has 150 lines; at most 110")

    def test_share_of_tests(self):
        self.expect(lambda tree: rules.test_share(tree, 0.2))
        self.expect(lambda tree: rules.test_share(tree, 0.6), "tests:1: 5 lines for 19 of source: 0.26; at least 0.6")

    def test_targets(self):
        build = self.root / "build"
        compiled = ["core/thing.cpp", "distributed/no_mpi.cpp"]
        (build / "compile_commands.json").write_text(json.dumps([{"file": str(self.root / name)} for name in compiled]))
        self.write("distributed/mpi.cpp", "")
        self.write("distributed/no_mpi.cpp", "")
        self.expect(lambda tree: rules.targets(tree, build), "tests/core/thing_test.cpp:1: no target compiles this file")

    def test_targets_for_gpus(self):
        build = self.root / "build"
        self.write("core/no_cuda.cpp", "")
        self.write("core/cuda/stream.cpp", "")
        self.write("ops/cuda/relu.cu", "")
        self.write("tests/fake_cuda/runtime.cpp", "")
        others = ["core/thing.cpp", "tests/core/thing_test.cpp"]

        def expect(compiled, *findings):
            commands = [{"file": str(self.root / name)} for name in [*others, *compiled]]
            (build / "compile_commands.json").write_text(json.dumps(commands))
            self.expect(lambda tree: rules.targets(tree, build), *findings)

        expect(["core/no_cuda.cpp"])
        expect(["core/cuda/stream.cpp", "ops/cuda/relu.cu"])
        expect(["core/cuda/stream.cpp"], "ops/cuda/relu.cu:1: no target")
        expect(["core/cuda/stream.cpp", "ops/cuda/relu.cu", "tests/fake_cuda/runtime.cpp"])

    def test_leftovers(self):
        words = ["TO" + "DO: more", "see /wo" + "rk/x", "iss" + "ue 12 says", "../sha" + "red/x", "Clau" + "de", "<" * 7 + " a"]
        self.write("README.md", "\n".join(words) + "\n")
        self.expect(rules.leftovers, *[f"README.md:{line}:" for line in range(1, len(words) + 1)])

    def test_format(self):
        if lint.shutil.which(lint.CLANG_FORMAT) is None:
            self.skipTest(f"{lint.CLANG_FORMAT} is not installed")
        self.write(".clang-format", "BasedOnStyle: Google\n")
        self.write("core/wide.cpp", "int x;\nint  y;\n")
        self.expect(lambda tree: [f for f in lint.unformatted(tree) if "wide" in f.path], "core/wide.cpp:2: run clang-format")


class FunctionsTest(unittest.TestCase):
    def found(self, code):
        return [(function.name, function.line, function.lines) for function in find_functions(code)]

    def test_finds_all_kinds(self):
        self.assertEqual(self.found("""namespace a {
template <class T>
int free(T t) {
  if (t) {
    return 1;
  }
  return 2;
}
class B : public C<int> {
 public:
  B() : x_{1}, y_(2) { start(); }
  bool operator==(const B&) const { return true; }
  ~B() {}
  B(int x) : x_([this](int a) { start(); }), y_(x) {}
};
const int table[] = {f(1), f(2)};
enum class E { one, two };
struct S { int x = 0; } s;
auto after() -> int { return 3; }
}
"""), [("free", 2, 7), ("B", 11, 1), ("operator==", 12, 1), ("~B", 13, 1), ("B", 14, 1),
      ("after", 19, 1)])

    def test_looks_through_directives(self):
        code = "#define BRACE {\\\n  {\n#if A\nint f(int a) {\n#else\nint f(long a) {\n#endif\n  return a;\n}\nint g() { return 1; }\n"
        self.assertEqual(self.found(without_directives(code)), [("f", 4, 6), ("g", 10, 1)])

    def test_comments_and_strings_hold_no_braces(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "text.cpp"
            path.write_text("// {\nconst char* a = \"{\";\n/* {\n */ char b = '{';\nint c = 1'000;\nvoid f() {\n}\n"
                            'const auto d = R"(\n{)";\nvoid g() {}\n')
            found = [(function.name, function.line) for function in SourceFile(Path(folder), path).functions]
            self.assertEqual(found, [("f", 6), ("g", 10)])


class ObjectsTest(unittest.TestCase):
    def compile(self, folder, code, *flags):
        source = Path(folder) / "unit.cpp"
        source.write_text(code)
        target = source.with_suffix(".o")
        subprocess.run([os.environ.get("CXX", "c++"), "-c", *flags, source, "-o", target], check=True)
        return [str(target)]

    def test_shared_symbols(self):
        with tempfile.TemporaryDirectory() as folder:
            code = "inline int twice(int x) { return 2 * x; }\nint (*use())(int) { return twice; }\n"
            found = list(objects.shared_symbols(self.compile(folder, code)))
            self.assertEqual(len(found), 1, found)
            self.assertIn("defines twice(int)", found[0])
            code = code.replace("inline", "static")
            self.assertEqual(list(objects.shared_symbols(self.compile(folder, code))), [])

    def test_vector_instructions(self):
        if os.uname().machine != "x86_64":
            self.skipTest("AVX is x86's")
        code = "float sum(const float* x) { return x[0] + x[1]; }\n"
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(list(objects.vector_instructions(self.compile(folder, code))), [])
            self.assertNotEqual(list(objects.vector_instructions(self.compile(folder, code, "-mavx2"))), [])


if __name__ == "__main__":
    sys.exit(unittest.main())
