#!/usr/bin/env python3
"""Where images lie and who loads them changes no bit: caches under threads, kills, damage, full disks and company.

    cache_test.py PROGRAM [ARGUMENTS OF unittest]
"""
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from background import Background, Paced, wait_until
from small_data import ingest

PROGRAM = sys.argv[1]
AUGMENT = "resize:20,grayscale,rotate:10,crop:2,flip,erase:0.3,mixup:0.3"
RECIPE = {"--dataset": "small", "--model": "lenet", "--epochs": "2", "--batch-size": "50", "--augment": AUGMENT,
          "--replicas": "2", "--shards": "4"}
ON_DISK = {"--cache-memory": "0"}


class CacheTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="lockring cache ")
        cls.root = Path(cls.temporary.name)
        random.seed(1)
        for name, counts in (("small", (1500, 300)), ("large", (14000, 100))):
            ingest(PROGRAM, cls.root, name, *counts)
        cls.whole = cls.root / "whole"
        done = subprocess.run(cls.command("whole", {}), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def setUp(self):
        self.cache = self.root / f"cache of {self.id().rsplit('.', 1)[1]}"
        self.runs = 0

    @classmethod
    def command(cls, run, options, *flags):
        options = RECIPE | {"--data-dir": cls.root / "data", "--run-dir": cls.root / run} | options
        return [PROGRAM, "train", *(word for option in options.items() for word in option), *flags]

    def name(self):
        """Of the test's next run."""
        self.runs += 1
        return f"{self.id().rsplit('.', 1)[1]} {self.runs}"

    def start(self, options, *flags, run=None, kind=Background, **how):
        return kind(self, self.command(run or self.name(), {"--cache-dir": self.cache} | options, *flags), **how)

    def train(self, options, *flags, run=None, **how):
        """The run's name, and what it said."""
        run = run or self.name()
        process = self.start(options, *flags, run=run, **how)
        _, told = process.communicate()
        self.assertEqual(process.returncode, 0, told)
        return run, told

    def assert_same_as_whole(self, run, whole=None):
        whole = whole or self.whole
        for name in ("best.safetensors", "last.safetensors"):
            same = (self.root / run / name).read_bytes() == (whole / name).read_bytes()
            self.assertTrue(same, f"{name} of {run} differs")
        losses = lambda folder: [[line[key] for key in ("epoch", "step", "train_loss", "val_loss", "val_accuracy")]
                                 for line in map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())]
        self.assertEqual(losses(self.root / run), losses(whole))

    def entries(self):
        listed = subprocess.run([PROGRAM, "data", "cache", "ls", "--json", "--cache-dir", self.cache, "--data-dir",
                                 self.root / "data"], capture_output=True, text=True, check=True)
        return json.loads(listed.stdout)["entries"]

    def assert_whole(self, entries=2):
        found = self.entries()
        self.assertEqual([entry["state"] for entry in found], ["current"] * entries)
        self.assertEqual(list(self.cache.glob("*.tmp.*")), [])

    def entry(self, split):
        return next(Path(entry["path"]) for entry in self.entries() if entry["split"] == split)

    def test_neither_places_nor_threads_change_a_bit(self):
        no_cache = ON_DISK | {"--cache-dir": "/dev/null/cache"}
        for place in ({}, ON_DISK, {"--cache-memory": "800K"}, no_cache):
            for threads in ("0", "1", "4"):
                with self.subTest(place=place, threads=threads):
                    run, _ = self.train(place | {"--loader-threads": threads})
                    self.assert_same_as_whole(run)

    def test_evaluation_counts_are_the_same_everywhere(self):
        counts = set()
        for place in ([], ["--cache-memory", "0"]):
            for replicas in ("1", "3", "7"):
                done = subprocess.run([PROGRAM, "eval", self.whole / "best.safetensors", "--dataset", "small",
                                       "--data-dir", self.root / "data", "--cache-dir", self.cache, "--replicas",
                                       replicas, "--json", *place], capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                result = json.loads(done.stdout)
                counts.add((result["correct"], str(result["confusion"]), result["loss"]))
        self.assertEqual(len(counts), 1)

    def test_an_interrupted_run_goes_on_inside_its_epoch(self):
        options = ON_DISK | {"--epochs": "20"}  # more than a paced run comes to
        whole, _ = self.train(options)
        run = self.name()
        status = self.root / run / "status.json"
        for flags in ([], ["--resume"]):
            process = self.start(options | {"--loader-threads": "2"}, *flags, run=run, kind=Paced)
            wait_until(lambda: status.exists() and json.loads(status.read_text())["state"] == "running", process)
            time.sleep(random.random() * 0.1)
            process.send_signal(signal.SIGTERM)
            process.communicate()
            self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        self.train(options | {"--loader-threads": "1"}, "--resume", run=run)
        self.assert_same_as_whole(run, self.root / whole)

    def test_a_killed_process_leaves_nothing_that_matters(self):
        half_made = lambda: set(self.cache.glob("*.tmp.*"))
        killed = 0
        for attempt in range(50):  # one that has made the entry before it is killed shows nothing
            before = half_made()
            process = self.start(ON_DISK | {"--dataset": "large"})
            wait_until(lambda: half_made() - before or process.poll() is not None, pause=0.001)
            time.sleep(0.005 * killed)
            process.kill()
            process.communicate()
            if half_made() - before:
                killed += 1
            else:
                self.clear_cache()
            if killed == 3:
                break
        self.assertEqual(killed, 3)
        self.clear_cache()
        run, _ = self.train(ON_DISK)
        self.assert_same_as_whole(run)
        self.assert_whole()

    def clear_cache(self):
        subprocess.run([PROGRAM, "data", "cache", "clear", "--cache-dir", self.cache], check=True, capture_output=True)
        self.assertEqual(list(self.cache.iterdir()), [])

    def test_one_of_many_makes_the_entry(self):
        names = [self.name() for _ in range(4)]
        processes = [self.start(ON_DISK, run=name) for name in names]
        told = [process.communicate()[1] for process in processes]
        self.assertEqual([process.returncode for process in processes], [0] * 4, told)
        self.assertEqual("".join(told).count("prepared 1,500 training images"), 1, told)
        for name in names:
            self.assert_same_as_whole(name)
        self.assert_whole()

    def test_damage_is_repaired_and_said_once(self):
        self.train(ON_DISK)
        path = self.entry("train")
        content = bytearray(path.read_bytes())
        for image in (3, 700, 1499):
            content[64 + image * 400 + 17] ^= 4
        path.write_bytes(content)
        run, told = self.train(ON_DISK | {"--loader-threads": "2"})
        self.assert_same_as_whole(run)
        self.assertEqual(told.count("is damaged: such images are prepared anew"), 1, told)
        self.assertIn("is damaged", (self.root / run / "log.txt").read_text())
        self.train(ON_DISK)
        self.assert_whole()

    def test_what_is_not_whole_is_made_anew(self):
        self.train(ON_DISK)
        path = self.entry("test")
        whole = path.read_bytes()
        for content in (whole[:-1], whole[:1000], b"", b"lockring images" + bytes(5000), os.urandom(len(whole))):
            path.write_bytes(content)
            run, told = self.train(ON_DISK)
            self.assert_same_as_whole(run)
            self.assertIn("made anew", told)
            self.assertEqual(path.read_bytes(), whole)

    def test_a_full_disk_costs_the_cache_only(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000))
        run, told = self.train(ON_DISK, preexec_fn=limit)
        self.assert_same_as_whole(run)
        self.assertEqual(told.count("there is no disk cache"), 1, told)
        self.assertIn("File too large", told)
        self.assertEqual([path.suffix for path in self.cache.iterdir()], [".lock"])

    @unittest.skipIf(os.geteuid() != 0, "only root may mount")
    def test_a_tiny_file_system_costs_the_cache_only(self):
        self.cache.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "cache", self.cache], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("mounting is not allowed here")
        try:
            run, told = self.train(ON_DISK)
            self.assert_same_as_whole(run)
            self.assertEqual(told.count("there is no disk cache"), 1, told)
            self.assertIn("No space left on device", told)
            self.assertEqual([path.suffix for path in self.cache.iterdir()], [".lock"])
        finally:
            subprocess.run(["umount", self.cache], check=True)

    def test_another_front_is_another_entry(self):
        self.train(ON_DISK)
        other = AUGMENT.replace("resize:20", "resize:22")
        self.train(ON_DISK | {"--augment": other})
        self.assert_whole(4)
        self.assertEqual({(entry["split"], entry["front"]) for entry in self.entries()},
                         {(split, f"resize:{size},grayscale") for split in ("train", "test")
                          for size in ("20x20", "22x22")})

    def test_what_is_in_use_is_not_cleared(self):
        run = self.name()
        process = self.start(ON_DISK | {"--epochs": "100000"}, run=run)
        try:
            wait_until((self.root / run / "last.safetensors").exists, process)
            self.assertEqual([entry["in_use"] for entry in self.entries()], [True, True])
            cleared = subprocess.run([PROGRAM, "data", "cache", "clear", "--json", "--cache-dir", self.cache],
                                     capture_output=True, text=True, check=True)
            self.assertEqual(len(json.loads(cleared.stdout)["kept_because_in_use"]), 2)
        finally:
            process.kill()
            process.communicate()
        self.assertEqual([entry["in_use"] for entry in self.entries()], [False, False])

    def test_memory_does_not_grow(self):
        """The images take 18 MB, of which one may lie in memory."""
        recipe = {"--dataset": "large", "--batch-size": "100", "--augment": "resize:36,crop:2", "--val-fraction": "0"}

        def resident(options):
            run, _ = self.train(recipe | options)
            lines = (self.root / run / "metrics.jsonl").read_text().splitlines()
            return [json.loads(line)["resident_bytes"] for line in lines]

        epochs = resident({"--epochs": "10", "--cache-memory": "1M", "--loader-threads": "2"})
        self.assertLess(epochs[9], epochs[2] * 1.01, epochs)
        self.assertLess(max(epochs), resident({"--max-steps": "20"})[0] - 10_000_000)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
