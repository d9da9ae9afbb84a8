#!/usr/bin/env python3
"""Disks that fill up, cannot be written or go away: nothing that was good is lost, and one line says what is wrong.

    disk_test.py PROGRAM [ARGUMENTS OF unittest]

On file systems of a few KiB and of read-only mounts, which bind root as well; skipped where a test may not mount.
"""
import contextlib
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from background import Background

PROGRAM = sys.argv[1]
SIDE = 12  # of an image
RECIPE = ["--dataset", "small", "--model", "mlp", "--batch-size", "32", "--replicas", "1"]


def mount(*arguments):
    mounted = subprocess.run(["mount", *map(str, arguments)], capture_output=True, text=True)
    if mounted.returncode != 0:
        raise unittest.SkipTest("mounting is not allowed here: " + mounted.stderr.strip())


@contextlib.contextmanager
def small_disk(folder, kibibytes):
    folder.mkdir(exist_ok=True)
    mount("-t", "tmpfs", "-o", f"size={kibibytes}k", "small", folder)
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


@contextlib.contextmanager
def read_only(folder):
    mount("--bind", folder, folder)
    try:
        mount("-o", "remount,bind,ro", folder)
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def grow(folder, kibibytes):
    mount("-o", f"remount,size={kibibytes}k", folder)


def write_raw(folder):
    random.seed(1)
    folder.mkdir()
    for name, count in (("train", 300), ("t10k", 50)):
        labels = bytes(i % 10 for i in range(count))
        pixels = bytes(random.randrange(100) + 15 * label for label in labels for _ in range(SIDE * SIDE))
        (folder / f"{name}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 0x803, count, SIDE, SIDE) + pixels)
        (folder / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, count) + labels)


def run(*arguments, **how):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, **how)


@unittest.skipIf(os.geteuid() != 0, "only root may mount")
class DiskTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="lockring disk ")
        self.addCleanup(temporary.cleanup)
        self.root = Path(temporary.name)
        self.data = self.root / "data"
        write_raw(self.root / "raw")
        self.assertEqual(self.ingest(self.data).returncode, 0)

    def ingest(self, store):
        return run("data", "ingest", "--dataset", "small", "--source", self.root / "raw", "--data-dir", store,
                   "--quiet")

    def train(self, folder, *more, **how):
        return run("train", *RECIPE, "--epochs", "3", "--data-dir", self.data, "--run-dir", folder, "--quiet", *more,
                   **how)

    def assert_refused(self, done, expression):
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(done.stdout, "")
        lines = [line for line in done.stderr.splitlines() if not line.startswith("lockring: warning: cannot write ")]
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertRegex(lines[0], expression)

    def test_a_run_goes_on_once_there_is_room(self):
        self.assertEqual(self.train(self.root / "whole").returncode, 0)
        size = (self.root / "whole" / "last.safetensors").stat().st_size >> 10
        with small_disk(self.root / "disk", size * 3 // 2) as disk:  # one checkpoint, and no room to replace it
            folder = disk / "run"
            self.assert_refused(self.train(folder), "cannot write .*safetensors: No space left on device; the "
                                                    "checkpoint of step 0 is kept, to go on from with --resume$")
            self.assertEqual(list(folder.glob("*.tmp.*")), [])
            grow(disk, 16 * size)
            resumed = self.train(folder, "--resume")
            self.assertEqual(resumed.returncode, 0, resumed.stderr)
            for name in ("last.safetensors", "best.safetensors"):
                self.assertEqual((folder / name).read_bytes(), (self.root / "whole" / name).read_bytes())
            self.assertEqual(json.loads((folder / "status.json").read_text())["state"], "finished")

    def test_ingesting_leaves_nothing_on_a_full_disk(self):
        with small_disk(self.root / "disk", 32) as disk:
            self.assert_refused(self.ingest(disk), "cannot write .*: No space left on device$")
            self.assertEqual([path.name for path in (disk / "small").iterdir()], [".lock"])
            grow(disk, 1024)
            self.assertEqual(self.ingest(disk).returncode, 0)

    def test_reports_that_cannot_be_written(self):
        with open("/dev/full", "w") as out:
            for command in (["data", "info", "--dataset", "small", "--data-dir", self.data], ["models"], ["doctor"]):
                done = subprocess.run([PROGRAM, *map(str, command)], stdout=out, stderr=subprocess.PIPE, text=True)
                self.assertEqual(done.returncode, 1, command)
                self.assertEqual(done.stderr, "lockring: cannot write to standard output: No space left on device\n")

    def test_a_read_only_store_is_enough_to_train_and_evaluate(self):
        with read_only(self.data):
            self.assertEqual(self.train(self.root / "run").returncode, 0)
            bundle = self.root / "run" / "best.safetensors"
            for command in (["eval", bundle], ["predict", bundle, "--test-samples", "0"]):
                done = run(*command, "--dataset", "small", "--data-dir", self.data)
                self.assertEqual(done.returncode, 0, done.stderr)
            self.assert_refused(self.ingest(self.data), "Read-only file system")

    def test_a_read_only_run_directory(self):
        folder = self.root / "run"
        self.assertEqual(self.train(folder).returncode, 0)
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        with read_only(folder):
            self.assert_refused(self.train(folder, "--resume"), "Read-only file system")
        self.assertEqual({path.name: path.read_bytes() for path in folder.iterdir()}, before)

    def test_a_read_only_working_directory(self):
        here = self.root / "here"
        here.mkdir()
        with read_only(here):
            done = run("train", *RECIPE, "--epochs", "3", "--data-dir", self.data, "--quiet", cwd=here)
            self.assert_refused(done, "cannot make the run directory .*Read-only file system")

    def test_a_store_that_vanishes_from_a_run(self):
        """What a run reads from disk it holds open."""
        process = Background(self, [PROGRAM, "train", *RECIPE, "--epochs", "30", "--cache-memory", "0", "--data-dir",
                                    self.data, "--run-dir", self.root / "run"])
        process.wait_for_line("epoch ")
        shutil.rmtree(self.data)
        _, err = process.communicate()
        self.assertEqual(process.returncode, 0, err)

    def test_a_store_that_has_vanished(self):
        shutil.rmtree(self.data)
        self.assert_refused(self.train(self.root / "run"), "small")
        self.assertFalse((self.root / "run").exists())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
