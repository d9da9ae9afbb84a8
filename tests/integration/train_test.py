#!/usr/bin/env python3
"""Runs of the program that are stopped, killed, or have the disk taken away, end as if nothing had happened.

    train_test.py PROGRAM [ARGUMENTS OF unittest]
"""
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from background import SANITIZED, Background, Paced, wait_until
from small_data import ingest

PROGRAM = sys.argv[1]
EPOCHS = 30  # more than a run comes to in all its interruptions, which pacing bounds
ENDLESS = 100000
RECIPE = ["--dataset", "small", "--model", "lenet", "--batch-size", "32", "--augment", "crop:1,flip", "--optimizer",
          "adamw", "--ema", "0.9", "--schedule", "onecycle", "--replicas", "2"]


class TrainTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="lockring train ")
        cls.root = Path(cls.temporary.name)
        random.seed(1)
        ingest(PROGRAM, cls.root, "small", 600, 100)
        cls.whole = cls.root / "whole"
        started = time.monotonic()
        finished = cls.train(cls.whole)
        cls.epoch_seconds = (time.monotonic() - started) / EPOCHS
        assert finished.returncode == 0, finished.stderr
        seed = random.SystemRandom().randrange(1 << 32)
        print("moments of stopping are drawn from seed", seed)
        random.seed(seed)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    @classmethod
    def command(cls, run, *more, epochs=EPOCHS):
        return [PROGRAM, "train", *RECIPE, "--epochs", str(epochs), "--data-dir", cls.root / "data", "--run-dir", run,
                *more]

    @classmethod
    def train(cls, run, *more, epochs=EPOCHS, **how):
        return subprocess.run(cls.command(run, *more, epochs=epochs), capture_output=True, text=True, **how)

    def interrupt(self, run, interruption, *more, epochs=EPOCHS):
        """Starts a run, waits for the end of an epoch and a random part of the next, and interrupts it."""
        process = Paced(self, self.command(run, *more, epochs=epochs))
        process.wait_for_line("epoch ")
        time.sleep(random.random() * self.epoch_seconds)
        interruption(process)
        out, err = process.communicate()
        return process.returncode, out, err

    def assert_same_as_whole(self, run):
        for name in ("best.safetensors", "last.safetensors"):
            self.assertTrue((run / name).read_bytes() == (self.whole / name).read_bytes(), f"{name} differs")
        self.assertEqual(self.metrics(run), self.metrics(self.whole))
        self.assertEqual(list(run.glob("*.tmp.*")), [])

    def metrics(self, run):
        lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        return [{key: line[key] for key in ("epoch", "step", "train_loss", "val_loss", "val_accuracy")} for line in lines]

    @unittest.skipIf(SANITIZED, "a sanitizer keeps freed memory")
    def test_memory_is_the_same_after_ten_epochs_as_after_three(self):
        resident = [json.loads(line)["resident_bytes"] for line in (self.whole / "metrics.jsonl").read_text().splitlines()]
        most = max(resident[:3])  # the system may have taken some back meanwhile
        self.assertGreater(most, 1 << 20)
        self.assertLessEqual(resident[9], 1.01 * most, resident)

    def stop_twice(self, number):
        run = self.root / f"stopped by {number}"
        for more in ((), ("--resume",)):
            code, out, err = self.interrupt(run, lambda process: process.send_signal(number), *more)
            self.assertEqual(code, 128 + number, err)
            self.assertEqual(out, "")
            self.assertIn("stopped at step ", err)
            self.assertFalse((run / "summary.json").exists())
        # As the program says.
        advice = err.splitlines()[-1].split("go on with: lockring ")[1]
        resumed = subprocess.run(f"'{PROGRAM}' {advice}", shell=True, capture_output=True, text=True)
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        self.assert_same_as_whole(run)

    def test_sigterm_stops_and_the_advice_goes_on(self):
        self.stop_twice(signal.SIGTERM)

    def test_ctrl_c_does_the_same(self):
        self.stop_twice(signal.SIGINT)

    def test_a_signal_to_a_finished_run_changes_nothing(self):
        for attempt in range(20):
            run = self.root / f"finished {attempt}"
            process = Background(self, self.command(run, epochs=1))
            wait_until((run / "summary.json").exists, process, pause=0)
            time.sleep(random.random() * 0.015)
            process.terminate()
            _, err = process.communicate()
            self.assertEqual(process.returncode, 0, err)

    def test_quiet_is_quiet_when_it_is_stopped(self):
        run = self.root / "quiet"
        process = Background(self, self.command(run, "--quiet", epochs=ENDLESS))
        wait_until((run / "last.safetensors").exists, process)
        process.terminate()
        self.assertEqual(process.communicate(), ("", ""))
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)

    def test_a_killed_run_goes_on_from_its_last_checkpoint(self):
        run = self.root / "killed"
        for more in ((), ("--resume",), ("--resume",)):
            self.assertEqual(self.interrupt(run, lambda process: process.kill(), *more)[0], -signal.SIGKILL)
        (run / "last.safetensors.tmp.1.0").write_bytes(b"half")
        self.assertEqual(self.train(run, "--resume").returncode, 0)
        self.assert_same_as_whole(run)

    def assert_cannot_write(self, code, out, err, kept):
        """A checkpoint; other files that cannot be written are warned of, each once."""
        self.assertEqual(code, 3, err)
        self.assertEqual(out, "")
        complaints = [line for line in err.splitlines() if line.startswith("lockring: ")]
        warnings = [line for line in complaints if line.startswith("lockring: warning: cannot write ")]
        self.assertEqual(len(warnings), len(set(line.split(":")[2] for line in warnings)), err)
        self.assertEqual(complaints[:-1], warnings)
        self.assertRegex(complaints[-1], f"^lockring: cannot write .*safetensors: .*; {kept}$")

    def limited(self, run, kept, *more):
        """A disk that takes no file of more than 64 KiB, a fraction of a checkpoint."""
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))
        finished = self.train(run, *more, preexec_fn=limit)
        self.assert_cannot_write(finished.returncode, finished.stdout, finished.stderr, kept)

    def test_a_full_disk_leaves_the_old_checkpoint(self):
        run = self.root / "full"
        self.interrupt(run, lambda process: process.terminate())
        before = {path.name: path.read_bytes() for path in run.glob("*.safetensors")}
        self.limited(run, r"the checkpoint of step \d+ is kept, to go on from with --resume", "--resume")
        self.assertEqual(json.loads((run / "status.json").read_text())["state"], "failed")
        self.assertEqual({path.name: path.read_bytes() for path in run.glob("*.safetensors*")}, before)
        self.assertEqual(self.train(run, "--resume").returncode, 0)
        self.assert_same_as_whole(run)

    def test_a_full_disk_at_the_start(self):
        run = self.root / "full at once"
        self.limited(run, "there is no checkpoint")
        self.assertEqual(list(run.glob("*.safetensors*")), [])

    def test_a_folder_that_vanishes(self):
        run = self.root / "vanished"
        elsewhere = self.root / "elsewhere"
        self.assert_cannot_write(*self.interrupt(run, lambda process: run.rename(elsewhere)), "there is no checkpoint")
        self.assertFalse(run.exists())
        self.assertEqual(self.train(elsewhere, "--resume").returncode, 0)
        self.assert_same_as_whole(elsewhere)

    @unittest.skipIf(os.geteuid() == 0, "root may write anywhere")
    def test_a_folder_that_is_read_only(self):
        run = self.root / "read only"
        shutil.copytree(self.whole, run)
        run.chmod(0o500)
        finished = self.train(run, "--resume")
        self.assert_cannot_write(finished.returncode, finished.stdout, finished.stderr, "the checkpoint of step .*")
        run.chmod(0o700)

    def runs(self, *arguments):
        return subprocess.run([PROGRAM, "runs", *arguments], capture_output=True, text=True)

    def test_a_run_can_be_watched_from_its_first_moment_on(self):
        folder = self.root / "watched"
        folder.mkdir()
        process = Paced(self, self.command(folder / "a"))
        seen = []

        def look():
            seen.extend(json.loads(self.runs("ls", folder, "--json").stdout))
            return any(run["state"] == "running" for run in seen)

        wait_until(look, process)
        process.go_on()
        while process.poll() is None:
            look()
        out, err = process.communicate()
        self.assertEqual(process.returncode, 0, err)
        self.assert_same_as_whole(folder / "a")
        states = {run["state"] for run in seen}
        self.assertLessEqual(states, {"running", "finished"}, states)
        # The configuration is there before anything is trained; no file is ever seen half-written.
        self.assertEqual([run["problems"] for run in seen if run["metrics"] and run["problems"]], [])
        counts = [run["metrics"].get("epochs", 0) for run in seen]
        self.assertEqual(counts, sorted(counts))
        (last,) = json.loads(self.runs("ls", folder, "--json").stdout)
        self.assertEqual((last["state"], last["metrics"]["epochs"]), ("finished", EPOCHS))

    def test_a_stopped_run_is_told_from_a_killed_and_a_finished_one(self):
        folder = self.root / "told apart"
        folder.mkdir()
        self.interrupt(folder / "stopped", lambda process: process.terminate(), epochs=ENDLESS)
        self.interrupt(folder / "killed", lambda process: process.kill(), epochs=ENDLESS)
        self.train(folder / "finished")
        states = {run["run"]: run["state"] for run in json.loads(self.runs("ls", folder, "--json").stdout)}
        self.assertEqual(states, {str(folder / "stopped"): "stopped", str(folder / "killed"): "stopped",
                                  str(folder / "finished"): "finished"})
        self.assertEqual(self.runs("rm", folder / "stopped", folder / "killed", "--yes").returncode, 0)
        self.assertEqual([path.name for path in folder.iterdir()], ["finished"])

    def test_two_processes_do_not_train_in_one_folder(self):
        run = self.root / "shared"
        refusals = []

        def resume_at_once(process):
            refusals.append(self.train(run, "--resume", epochs=ENDLESS))
            refusals.append(self.runs("rm", run, "--yes"))
            process.terminate()

        self.assertEqual(self.interrupt(run, resume_at_once, epochs=ENDLESS)[0], 128 + signal.SIGTERM)
        self.assertEqual(refusals[0].returncode, 2)
        self.assertIn("another process is training in", refusals[0].stderr)
        self.assertEqual(refusals[1].returncode, 2)
        self.assertIn("is being trained in", refusals[1].stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
