#!/usr/bin/env python3
"""Workflows that are killed at any moment end as if nothing had happened.

    workflow_test.py PROGRAM [ARGUMENTS OF unittest]
"""
import collections
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from background import Background, free_port, wait_until
from serving import dark_image, png
from small_data import write_split
from steady_client import SteadyClient

PROGRAM = sys.argv[1]
TRAININGS = ("cnn", "cnn_bn", "cnn_dropout")
KILLS = 20
# Each step says when it begins and when it has made its output, and makes it in two halves.
STEP = """
  {name}:
    run: |
      echo {name} begins >> ${{log}}
      {before}
      printf half > ${{outputs.o}}; sleep 0.0{pause}; echo -{name} >> ${{outputs.o}}
      echo {name} ends >> ${{log}}
    outputs: {{o: {{path: "${{out}}/{name}"}}}}
    memoize: {memoize}
"""
# Of so many epochs that it is hardly over before it is ended.
TRAINING = """
parameters: {source: }
steps:
  ingest: {uses: data ingest, inputs: {source: "${source}"}, with: {source: "${inputs.source}"}}
  cnn: {uses: train, with: {model: mlp, epochs: 200, batch-size: 16}, inputs: {data: "${steps.ingest.data}"}}
"""


def pid_is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


class WorkflowTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="lockring workflow ")
        self.addCleanup(temporary.cleanup)
        self.root = Path(temporary.name)
        (self.root / "out").mkdir()
        self.state = self.root / "state"
        self.log = self.root / "log"
        seed = random.SystemRandom().randrange(1 << 32)
        print("moments are drawn from seed", seed)
        random.seed(seed)

    def command(self, *arguments):
        return [PROGRAM, "workflow", *arguments, "--state-dir", self.state]

    def run_command(self, name="w.yaml", *more):
        return self.command("run", self.root / name, "--set", f"log={self.log}", "--set", f"out={self.root / 'out'}",
                            "--slots", "2", *more)

    def start(self, *more, **how):
        return Background(self, self.run_command(*more), **how)

    def write(self, steps):
        (self.root / "w.yaml").write_text("parameters: {log: , out: }\nsteps:\n" + steps)

    def write_layers(self):
        """Three layers of four steps, each of a layer takes two of the one before."""
        steps = ""
        for layer in range(3):
            for number in range(4):
                before = " ".join(f"${{steps.s{layer - 1}{(number + i) % 4}.o}}" for i in range(2)) if layer else ""
                steps += STEP.format(name=f"s{layer}{number}", before=f"cat {before} > /dev/null" if layer else ":",
                                     pause=random.randrange(1, 5), memoize=str(number % 2 == 0).lower())
        self.write(steps)

    def events(self, run):
        lines = (self.state / "runs" / run / "journal.jsonl").read_text().splitlines()
        events = []
        for line in lines:
            try:
                events.append(json.loads(line))
            except json.JSONDecodeError:
                pass  # torn when the process was killed
        return events

    def assert_whole(self, run):
        for path in (self.root / "out").iterdir():
            self.assertEqual(path.read_text(), f"half-{path.name}\n")
        self.assertEqual(len(list((self.root / "out").iterdir())), 12)
        self.assertEqual(list((self.state / "tmp").iterdir()), [])
        good = collections.Counter(event["step"] for event in self.events(run)
                                   if event["event"] == "end" and event["state"] in ("succeeded", "cached"))
        self.assertEqual(set(good.values()), {1}, good)
        # What ended well in the journal was not begun afterwards.
        done = set()
        for event in self.events(run):
            if event["event"] == "end" and event["state"] in ("succeeded", "cached"):
                done.add(event["step"])
            elif event["event"] == "start":
                self.assertNotIn(event["step"], done)

    def test_killed_at_any_moment_it_goes_on_where_it_was(self):
        self.write_layers()
        started = time.monotonic()
        subprocess.run(self.run_command(), check=True, capture_output=True)
        whole = time.monotonic() - started
        kills = 0
        for number in range(10 * KILLS):
            if kills == KILLS:
                break
            self.state = self.root / f"state {number}"
            subprocess.run(["rm", "-rf", self.root / "out"], check=True)
            (self.root / "out").mkdir()
            process = self.start()
            time.sleep(random.random() * whole)
            process.kill()
            process.communicate()
            if process.returncode == -signal.SIGKILL:
                kills += 1
            else:
                whole *= 0.8  # the machine was busier at first
            for path in (self.root / "out").glob("[!.]*"):
                self.assertEqual(path.read_text(), f"half-{path.name}\n", "nothing half-made is ever visible")
            finished = subprocess.run(self.run_command(), capture_output=True, text=True)
            self.assertEqual(finished.returncode, 0, finished.stderr)
            run = finished.stdout.split(":")[0]
            journal = self.state / "runs" / "w-1" / "journal.jsonl"
            if run != "w-1" and process.returncode == -signal.SIGKILL and journal.exists():
                self.assertEqual([event["event"] for event in self.events("w-1")].count("finish"), 1,
                                 "only a run that had ended is not gone on with")
            self.assert_whole(run)
        self.assertEqual(kills, KILLS)

    def test_its_processes_die_with_it(self):
        self.write("  a:\n    run: echo $$ > ${log}.tmp; mv ${log}.tmp ${log}; sleep 1000\n"
                   "  b:\n    run: setsid sleep 1000 & echo $! > ${log}.b.tmp; mv ${log}.b.tmp ${log}.b; wait\n")
        process = self.start()
        other = self.root / "log.b"
        wait_until(lambda: self.log.exists() and other.exists())
        process.kill()
        process.communicate()
        wait_until(lambda: not pid_is_alive(int(self.log.read_text())))
        # One that has left its group is ended by the run that goes on.
        fled = int(other.read_text())
        self.log.unlink()
        process = self.start()
        wait_until(self.log.exists)
        wait_until(lambda: not pid_is_alive(fled))
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate()
        self.assertEqual(process.returncode, 128 + signal.SIGTERM, err)
        self.assertEqual(out, "w-1: stopped\n")

    def test_two_runs_at_once_make_it_once(self):
        self.write("  a:\n    run: echo a >> ${log}; sleep 0.3; echo 1 > ${outputs.o}\n    outputs: {o: value}\n"
                   "    memoize: true\n")
        processes = [self.start() for _ in range(4)]
        states = []
        for process in processes:
            out, err = process.communicate()
            self.assertEqual(process.returncode, 0, err)
            states.append("cached" if "a: cached" in err else "succeeded")
        self.assertEqual(self.log.read_text(), "a\n")
        self.assertEqual(sorted(states), ["cached"] * 3 + ["succeeded"])

    def test_one_that_makes_it_is_killed_and_the_other_one_goes_on(self):
        self.write("  a:\n    run: echo a >> ${log}; test -e ${out}/go || sleep 1000; echo 1 > ${outputs.o}\n"
                   "    outputs: {o: value}\n    memoize: true\n")
        first = self.start()
        wait_until(self.log.exists)
        second = self.start()
        wait_until(lambda: len(list((self.state / "runs").glob("*/journal.jsonl"))) == 2)
        (self.root / "out" / "go").touch()
        first.kill()
        first.communicate()
        out, err = second.communicate()
        self.assertEqual(second.returncode, 0, err)
        self.assertEqual(self.log.read_text(), "a\na\n")

    def test_a_full_disk_is_a_failure_and_nothing_worse(self):
        self.write(STEP.format(name="a", before=":", pause=1, memoize="true"))
        limited = subprocess.run(["sh", "-c", 'ulimit -f 0; exec "$@"', "sh", *self.run_command()], capture_output=True,
                                 text=True)
        self.assertNotEqual(limited.returncode, 0)
        self.assertEqual(len(limited.stderr.strip().splitlines()), 1, limited.stderr)
        self.assertEqual(subprocess.run(self.run_command(), capture_output=True).returncode, 0)

    def test_time_zones_do_not_matter(self):
        self.write(STEP.format(name="a", before=":", pause=1, memoize="{max_age: 1h}"))
        for zone in ("Asia/Tokyo", "America/Los_Angeles", "UTC"):
            subprocess.run(self.run_command(), check=True, capture_output=True, env={**os.environ, "TZ": zone})
        self.assertEqual(self.log.read_text(), "a begins\na ends\n")

    def test_a_terminal_gets_a_table(self):
        self.write("  first: {run: \"echo hello; until test -e ${out}/go; do sleep 0.01; done\"}\n"
                   "  second: {run: \"false\", needs: first}\n")
        script = Background(self, ["script", "-qec", " ".join(f"'{word}'" for word in self.run_command()), "/dev/null"],
                            env={**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8"})
        wait_until(lambda: "hello" in script.printed()[0], script)
        (self.root / "out" / "go").touch()
        shown, _ = script.communicate()
        self.assertIn("▶ first", shown)
        self.assertIn("✗ second", shown)
        self.assertIn("exit code 1", shown)
        self.assertIn("\x1b[", shown)


class ShippedWorkflowTest(unittest.TestCase):
    """workflows/fashion_mnist.yaml on a small data set."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="lockring workflow ")
        self.addCleanup(temporary.cleanup)
        self.root = Path(temporary.name)
        self.source = self.root / "source"
        self.source.mkdir()
        random.seed(1)
        write_split(self.source, "train", 400)
        write_split(self.source, "t10k", 80)

    def command(self, command, state, *more):
        file = Path(__file__).resolve().parents[2] / "workflows" / "fashion_mnist.yaml"
        settings = [f"--set={setting}" for setting in (f"source={self.source}", "epochs=1", "ranks=1", "port=0", *more)]
        return [PROGRAM, "workflow", command, file, *settings, "--state-dir", self.root / state]

    def workflow(self, command, state, *more):
        return subprocess.run([*self.command(command, state, *more), "--json"], capture_output=True, text=True,
                              cwd=self.root)

    def run_workflow(self, state):
        finished = self.workflow("run", state)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        return {step["step"]: step for step in json.loads(finished.stdout)["steps"]}

    def bundles(self, steps):
        return {name: Path(self.root / steps[name]["outputs"]["run"], "best.safetensors").read_bytes() for name in TRAININGS}

    def selection(self, steps):
        return (self.root / steps["select"]["outputs"]["selection"]).read_bytes()

    def test_runs_once_and_gives_the_same_bits_from_an_empty_cache(self):
        first = self.run_workflow("state")
        again = self.run_workflow("state")
        self.assertEqual([first[name]["state"] for name in ("serve", "aggregate")], ["succeeded"] * 2)
        for name in ("ingest", *TRAININGS, "select", "aggregate"):
            self.assertEqual((first[name]["state"], again[name]["state"]), ("succeeded", "cached"), name)
        self.assertEqual(again["serve"]["state"], "succeeded", "only that runs again")
        answers = (self.root / first["aggregate"]["outputs"]["answers"]).read_text()
        self.assertRegex(answers, "(?m)^  ensemble +mean of first, second")
        self.assertTrue(answers.startswith("80 test images of fashion-mnist, asked of http://127.0.0.1:"), answers)
        made = self.bundles(first), self.selection(first)
        shutil.rmtree(self.root / "state")
        anew = self.run_workflow("state")
        self.assertEqual((self.bundles(anew), self.selection(anew)), made)

    def test_a_training_that_was_killed_goes_on_from_its_checkpoint(self):
        whole = self.run_training("whole")
        for end in (signal.SIGKILL, signal.SIGTERM):
            with self.subTest(end=end):
                state = self.cut_off_training(end)
                resumed = self.run_training(state)
                self.assertEqual(resumed["cnn"]["attempts"], 2)
                log = (state / "runs/train-1/logs/cnn.2.log").read_text()
                self.assertIn("resuming at step", log)
                self.assertEqual(self.bundle(resumed), self.bundle(whole))
                self.assertEqual(list((state / "tmp").iterdir()), [])

    def cut_off_training(self, end):
        """The state of a run that a signal has ended in the middle of its training."""
        for attempt in range(5):  # one that is over before the signal comes shows nothing
            state = self.root / f"state {end} {attempt}"
            run = Background(self, self.training(state))
            wait_until(lambda: run.poll() is not None or any(state.glob("tmp/train-1.cnn.*/run/last.safetensors")))
            run.send_signal(end)
            run.communicate()
            if run.returncode != 0:
                return state
        self.fail("the training was over each time before the signal came")

    def training(self, state):
        (self.root / "train.yaml").write_text(TRAINING)
        return [PROGRAM, "workflow", "run", self.root / "train.yaml", "--set", f"source={self.source}", "--state-dir",
                self.root / state, "--json"]

    def run_training(self, state):
        finished = subprocess.run(self.training(state), capture_output=True, text=True, cwd=self.root)
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertEqual(json.loads(finished.stdout)["run"], "train-1", "the run goes on")
        return {step["step"]: step for step in json.loads(finished.stdout)["steps"]}

    def bundle(self, steps):
        return (self.root / steps["cnn"]["outputs"]["run"] / "last.safetensors").read_bytes()

    @unittest.skipUnless(shutil.which("mpirun"), "there is no MPI")
    def test_ranks_leave_what_they_read_as_it_was(self):
        for state in ("succeeded", "cached"):
            finished = self.workflow("run", "state", "ranks=2")
            self.assertEqual(finished.returncode, 0, finished.stderr)
            steps = {step["step"]: step["state"] for step in json.loads(finished.stdout)["steps"]}
            for name in ("ingest", *TRAININGS, "select", "aggregate"):
                self.assertEqual(steps[name], state, steps)

    def test_later_candidates_join_without_a_lost_request(self):
        port = free_port()
        client = SteadyClient(port, png(dark_image(1)))
        client.start()
        # On one core one training after the other, and the server beside them from the first on.
        run = Background(self, self.command("run", "state", f"port={port}") + ["--slots", "1", "--keep-serving"], cwd=self.root)
        run.wait_for_line("fashion_mnist-")
        wait_until(lambda: client.answered, run)
        client.stop()
        printed = run.printed()[1]
        self.assertIn(": all other steps have ended", printed)
        self.assertEqual(client.lost, [])
        self.assertGreater(client.answered, 0)
        served = [line.split("first: ")[1] for line in printed.splitlines() if "serve: ready" in line]
        self.assertEqual(served[0], "cnn; second: cnn")
        self.assertGreater(len(served), 1, printed)
        self.assertNotEqual(served[-1].split("second: ")[1], "cnn", "two models in the end")

    def test_what_is_remembered_does_not_depend_on_placement(self):
        self.run_workflow("state")
        plan = {step["step"]: step for step in json.loads(self.workflow("plan", "state", "ranks=4").stdout)}
        for name in TRAININGS:
            self.assertEqual(plan[name]["verdict"], "HIT", plan)
        write_split(self.source, "t10k", 90)
        plan = {step["step"]: step for step in json.loads(self.workflow("plan", "state").stdout)}
        self.assertEqual(plan["ingest"]["verdict"], "MISS")
        self.assertEqual(plan["ingest"]["reason"], "input source has changed")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
