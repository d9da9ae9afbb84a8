#!/usr/bin/env python3
"""scripts/gpu_check: what it makes of figures, of bundles and of failures, and all of it on the CPU of this machine.

    gpu_check_test.py PROGRAM SCRIPTS [ARGUMENTS OF unittest]
"""
import json
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import small_data
from background import SANITIZED

PROGRAM, SCRIPTS = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
sys.path.insert(0, str(SCRIPTS / "gpu"))
import bundle
import package
import parts
import report


def write_tensors(path, tensors):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, values in tensors.items():
        offsets = [len(data), len(data) + 4 * len(values)]
        header[name] = {"dtype": "F32", "shape": [len(values)], "data_offsets": offsets}
        data += struct.pack(f"<{len(values)}f", *values)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


class PartsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_bundles_are_compared_by_the_norm_of_their_difference(self):
        write_tensors(self.folder / "a", {"w": [1, 2, 3], "b": [0]})
        write_tensors(self.folder / "b", {"w": [1, 2, 6], "b": [4], "golden.logits": [1]})
        a, b = (bundle.read(self.folder / name) for name in "ab")
        self.assertEqual(bundle.norm_of_difference(a, b), 5)
        self.assertEqual(bundle.norm_of_difference(a, a), 0)
        del b["b"]
        with self.assertRaises(ValueError):
            bundle.norm_of_difference(a, b)

    def test_time_to_accuracy_counts_training_alone(self):
        epochs = [{"seconds": 2, "val_accuracy": 0.8}, {"seconds": 3, "val_accuracy": 0.93}, {"seconds": 3}]
        self.assertEqual(parts.seconds_to(0.92, epochs), 5)
        self.assertIsNone(parts.seconds_to(0.95, epochs))

    def test_a_report_is_for_programs_and_for_readers(self):
        results = {"smoke": False, "device": "cuda", "parts": {
            "machine": {"ok": True, "name": "NVIDIA H200", "notes": ["driver: 13.0"], "seconds": 1},
            "training": {"ok": True, "rows": [{"model": "cnn", "images/s": 1234567.8}, {"model": "mlp", "share": 0.5}]},
            "tests": {"ok": False, "rows": [{"program": "ops tests", "ok": False, "said": "a | b"}]}}}
        report.write(self.folder, results)
        self.assertEqual(json.loads((self.folder / "report.json").read_text()), results)
        text = (self.folder / "report.md").read_text()
        self.assertIn("# Lockring on NVIDIA H200\n\n3 parts, failed: tests.", text)
        self.assertIn("| model | images/s | share |\n| --- | --- | --- |\n| cnn | 1,234,568 | - |\n| mlp | - | 0.5 |", text)
        self.assertIn("## tests: FAILED", text)
        self.assertIn("| ops tests | NO | a / b |", text)
        self.assertFalse(report.passed(results))
        del results["parts"]["tests"]
        self.assertTrue(report.passed(results))

    def test_libraries_of_the_machine_stay_there(self):
        names = [path.name for path in package.libraries_of(PROGRAM)]
        self.assertTrue(any(name.startswith("libfmt") for name in names), names)
        self.assertFalse(any(name.startswith(("libc.so", "libm.so", "libcudnn")) for name in names), names)


class ProgramTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.built = self.folder / "built"
        self.built.mkdir()
        (self.built / "lockring").symlink_to(PROGRAM)

    def check(self, *words):
        """The exit code and the report of a check."""
        done = subprocess.run([SCRIPTS / "gpu_check", "--out", self.folder / "out", "--build", self.built, "--minutes",
                               "15", *words], text=True, capture_output=True)
        file = self.folder / "out/report.json"
        return done, json.loads(file.read_text()) if file.exists() else {}

    def test_the_smoke_passes_where_the_device_is_the_cpu(self):
        for name, count in {"train": 600, "t10k": 100}.items():
            small_data.write_split(self.folder, name, count)
        done, results = self.check("--smoke", "--source", self.folder, "--device", "cpu", "--parts",
                                   "machine,agreement,accuracy,nccl,training,inference")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        agreement = results["parts"]["agreement"]["rows"]
        self.assertEqual([row["relative difference of gradients"] for row in agreement], [0, 0])
        self.assertEqual({row["loss"] for row in agreement}, {agreement[0]["loss on the CPU"]})
        self.assertGreater(agreement[0]["gradient norm"], 0.01)
        self.assertLess(agreement[0]["gradient norm"], 1000)
        self.assertGreater(results["parts"]["accuracy"]["rows"][0]["images/s"], 0)
        self.assertGreater(results["parts"]["training"]["rows"][0]["images/s"], 0)
        self.assertGreater(results["parts"]["inference"]["rows"][0]["latency us, median"], 0)
        self.assertIn("all passed", done.stdout)

    @unittest.skipIf(SANITIZED, "a sanitizer's program is larger")
    def test_what_is_taken_along_is_enough(self):
        along = self.folder / "along"
        package.gather(SCRIPTS.parent, self.built, along)
        self.assertLess(sum(path.stat().st_size for path in along.rglob("*") if path.is_file()), package.MOST_BYTES)
        done = subprocess.run([along / "scripts/gpu_check", "--out", self.folder / "out", "--device", "cpu", "--parts",
                               "machine"], text=True, capture_output=True, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue((along / "build/cuda/lockring").exists())
        self.assertTrue(any((along / "lib").iterdir()))

    def test_a_part_that_fails_does_not_end_the_others(self):
        done, results = self.check("--smoke", "--source", self.folder / "nowhere", "--device", "cpu", "--parts",
                                   "agreement,machine")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("nowhere", results["parts"]["agreement"]["notes"][0])
        self.assertTrue(results["parts"]["machine"]["ok"], results)

    def test_without_a_gpu_the_report_says_so_and_no_more(self):
        gpus = json.loads(subprocess.run([PROGRAM, "doctor", "--json"], check=True, capture_output=True).stdout)["gpus"]
        if gpus.get("devices"):
            self.skipTest("there is a GPU")
        done, results = self.check("--smoke", "--parts", "machine,agreement")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(list(results["parts"]), ["machine"])
        self.assertIn("there is no GPU here", results["parts"]["machine"]["notes"][-1])
        self.assertIn("there is no GPU here", done.stdout)

    def test_what_the_programs_note_is_in_the_report(self):
        script = self.built / "lockring"
        script.unlink()
        script.write_text("#!/bin/sh\necho 'note: slow' >&2\necho '{\"gpus\": {\"devices\": []}}'\n")
        script.chmod(0o755)
        done, results = self.check("--parts", "machine,training", "--device", "cpu")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(results["parts"]["machine"]["notes"], ["note: slow"])
        self.assertIn("KeyError", results["parts"]["training"]["notes"][0])

    def test_no_part_takes_longer_than_there_is(self):
        done, results = self.check("--minutes", "0.0001", "--parts", "machine", "--device", "cpu")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no time is left", results["parts"]["machine"]["notes"][0])

    def test_what_cannot_be_is_refused(self):
        self.assertEqual(self.check("--parts", "poetry")[0].returncode, 2)


unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
