#!/usr/bin/env python3
"""lockring ask: a server's models beside each other, which is what lockring eval and predict say of them.

    ask_test.py PROGRAM [ARGUMENTS OF unittest]
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from serving import Server, prepare

PROGRAM = sys.argv[1]


class AskTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory(prefix="lockring ask ")
        cls.addClassCleanup(temporary.cleanup)
        cls.root = Path(temporary.name)
        cls.bundles = dict(zip(("first", "second"), prepare(PROGRAM, cls.root)))
        cls.server = Server(PROGRAM, cls.root, *(f"{name}={bundle}" for name, bundle in cls.bundles.items()))
        cls.server.__enter__()
        cls.addClassCleanup(cls.server.__exit__)

    def lockring(self, *words):
        return subprocess.run([PROGRAM, *words], capture_output=True, text=True)

    def ask(self, *words, port=None):
        return self.lockring("ask", f"http://127.0.0.1:{port or self.server.port}", "--data-dir", self.root / "data",
                             "--dataset", "small", *words)

    def test_says_what_eval_and_predict_say(self):
        answer = json.loads(self.ask("--json", "--draw", "3,7").stdout)
        self.assertEqual(answer["images"], 100)
        models = {model["model"]: model for model in answer["models"]}
        self.assertEqual(list(models), ["first", "second", "ensemble"])
        for name, bundle in self.bundles.items():
            common = [bundle, "--data-dir", self.root / "data", "--dataset", "small", "--json"]
            evaluated = json.loads(self.lockring("eval", *common).stdout)
            self.assertAlmostEqual(models[name]["test_accuracy"], evaluated["accuracy"])
            self.assertEqual(models[name]["right"], round(100 * evaluated["accuracy"]))
            predicted = json.loads(self.lockring("predict", *common, "--test-samples", "3,7").stdout)["predictions"]
            self.assertEqual([guess["class"] for guess in models[name]["guesses"]], [one["class"] for one in predicted])
            self.assertIsNotNone(models[name]["val_accuracy"])
        self.assertIsNone(models["ensemble"]["val_accuracy"])
        self.assertGreater(models["ensemble"]["right"], 20)

    def test_draws_and_keeps_what_it_prints(self):
        report = self.root / "report"
        shown = self.ask("--images", "10", "--draw", "0", "--output", report)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertEqual(report.read_text(), shown.stdout)
        self.assertTrue(shown.stdout.startswith("10 test images of small, asked of http://127.0.0.1:"), shown.stdout)
        self.assertRegex(shown.stdout, r"(?m)^  ensemble +mean of first, second +- +[01]\.\d{4} +\d+$")
        self.assertRegex(shown.stdout, "(but )?is [0-9]")

    def test_mistakes(self):
        self.assertIn("--draw 100: small has test images 0 to 99", self.ask("--draw", "100").stderr)
        self.assertIn("cannot connect to 127.0.0.1:1", self.ask(port=1).stderr)
        missing = self.lockring("ask", f"http://127.0.0.1:{self.server.port}", "--data-dir", self.root)
        self.assertEqual(missing.returncode, 3, missing.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
