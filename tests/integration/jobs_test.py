#!/usr/bin/env python3
"""What surrounds a job of several ranks: doctor, simulate, launch, and how the ranks come to their data.

    jobs_test.py PROGRAM MPIRUN HOSTS [ARGUMENTS OF unittest]

HOSTS is scripts/netns/run, which emulates machines where it may.
"""
import json
import os
import signal
import sys
import tempfile
import unittest
from pathlib import Path

from background import Background, run, wait_until
from small_data import ingest

PROGRAM, MPIRUN, HOSTS = sys.argv[1:4]
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
TRAIN = ["train", "--dataset", "small", "--model", "mlp", "--batch-size", "60", "--replicas", "1"]


def mpirun(ranks, *command):
    return [MPIRUN, "--oversubscribe", "-np", str(ranks), *map(str, command)]


class JobsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="lockring jobs ")
        cls.root = Path(cls.temporary.name)
        ingest(PROGRAM, cls.root, "small", 600, 100)
        cls.data = cls.root / "data"

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def finish(self, command, code=0):
        result = run(self, command, env=ENVIRONMENT)
        if result.returncode == 77:
            self.skipTest(result.stderr.strip())
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    # doctor and simulate

    def test_doctor_tells_what_a_job_is_made_of(self):
        report = json.loads(self.finish(mpirun(3, PROGRAM, "doctor", "--json")).stdout)
        self.assertEqual([rank["rank"] for rank in report["ranks"]], [0, 1, 2])
        self.assertEqual(report["machines"], 1)
        self.assertIn("MPI", report["mpi"])
        self.assertIn(report["thread_level"], ("serialized", "multiple"))
        self.assertGreater(report["within_machines"][0]["latency_us"], 0)
        self.assertGreater(report["within_machines"][0]["gb_per_second"], 0)
        self.assertEqual(report["between_machines"], [])
        text = self.finish(mpirun(2, PROGRAM, "doctor")).stdout
        self.assertEqual(text.count("2 ranks on 1 machine;"), 1, "one rank prints")

    def test_doctor_sees_the_interface_between_machines(self):
        report = json.loads(self.finish([HOSTS, "--hosts", 2, PROGRAM, "doctor", "--json"]).stdout)
        self.assertEqual(report["machines"], 2)
        for rank in report["ranks"]:
            self.assertEqual([interface["name"] for interface in rank["interfaces"]], ["eth0"])
        link = report["between_machines"][0]
        self.assertEqual((link["from"], link["to"]), (0, 1))
        self.assertLess(link["gb_per_second"], 0.2, "a wire of 1 Gbit/s")

    def test_a_calibration_is_what_simulate_reads(self):
        file = self.root / "cluster.json"
        calibrate = ["doctor", "--calibrate", file, "--model", "mlp", "--seconds", "0.005"]
        self.finish(mpirun(2, PROGRAM, *calibrate))
        self.finish([HOSTS, "--hosts", 2, PROGRAM, *calibrate])
        stored = json.loads(file.read_text())
        self.assertEqual({row["hosts"] for row in stored["allreduce"]}, {1, 2}, "both jobs' rows are kept")
        simulate = [PROGRAM, "simulate", "--calibration", file, "--model", "mlp", "--ranks", "4", "--json"]
        rows = json.loads(self.finish(simulate).stdout)
        self.assertEqual([row["ranks"] for row in rows], [1, 2, 4])
        for row in rows:
            self.assertGreater(row["step_us"], 0)
        self.assertGreater(rows[2]["exchange_us"], rows[1]["exchange_us"])

    def test_training_chooses_by_a_table(self):
        """Of two hosts, on which the fixed choice would be a ring."""
        table = self.root / "table.json"
        seconds = {"ring": 2.0, "halving-doubling": 1.0}
        table.write_text(json.dumps({
            "format": 2, "machines": [], "allreduce": [
                {"bytes": 1 << 20, "ranks": 2, "hosts": 2, "algorithm": "halving-doubling", "seconds": seconds}],
            "cost": {"model": "mlp", "optimizer": "adam", "parameter_bytes": 1,
                     "compute": [{"images": 1, "seconds": 1}], "backward_share": 0.5, "update_seconds": 0,
                     "meeting_seconds": 0, "memory_seconds_per_byte": 0, "latency_seconds": 0,
                     "link_seconds_per_byte": 0, "burst_bytes": 0, "burst_seconds_per_byte": 0}}))
        for name, more, expected in (("by table", ["--allreduce-table", table], "halving-doubling between machines"),
                                     ("by itself", [], "ring between machines")):
            folder = self.root / name
            self.finish([HOSTS, "--hosts", 2, PROGRAM, *TRAIN, "--epochs", "1", "--data-dir", self.data, "--run-dir", folder,
                 "--quiet", *more])
            self.assertIn(expected, (folder / "log.txt").read_text())
        self.assertEqual((self.root / "by table/allreduce.json").read_text(), table.read_text())

    # launch

    def launch(self, folder, *options, starter=(MPIRUN, "--oversubscribe", "-np", "2"), train=()):
        command = [PROGRAM, "launch", "--backoff", "0.01", *options, "--", *starter, PROGRAM, *TRAIN, *train, "--shards", "2",
                   "--epochs", "100000", "--data-dir", self.data, "--run-dir", folder]
        return Background(self, command, env=ENVIRONMENT)

    def epochs(self, folder):
        metrics = folder / "metrics.jsonl"
        return [json.loads(line)["epoch"] for line in metrics.read_text().splitlines()] if metrics.exists() else []

    def ranks_of(self, launcher):
        """Process ids of the ranks: children of the launcher's child."""
        children = lambda pid: Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [int(rank) for job in children(launcher.pid) for rank in children(job)
                if PROGRAM.encode() in Path(f"/proc/{rank}/cmdline").read_bytes()]

    def test_a_killed_job_goes_on_from_its_checkpoint(self):
        folder = self.root / "killed"
        process = self.launch(folder, "--restarts", "2")
        wait_until(lambda: len(self.epochs(folder)) >= 2, process)
        first = self.ranks_of(process)
        self.assertEqual(len(first), 2)
        os.kill(first[1], signal.SIGKILL)
        wait_until(lambda: not Path(f"/proc/{first[0]}").exists(), process)
        before = len(self.epochs(folder))
        wait_until(lambda: len(self.epochs(folder)) > before, process)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate()
        self.assertEqual(process.returncode, 128 + signal.SIGTERM, errors)
        self.assertIn("was ended by signal 9", errors)
        self.assertIn("attempt 2 of 3, from the checkpoint in", errors)
        self.assertIn("stopped by signal 15", errors)
        epochs = self.epochs(folder)
        self.assertEqual(epochs, list(range(1, len(epochs) + 1)), "each epoch once")
        self.assertEqual(json.loads((folder / "status.json").read_text())["state"], "stopped")

    def test_the_host_that_failed_is_left_out(self):
        """Two hosts by name, whose daemons an agent starts on this machine."""
        # mpirun takes no agent whose path has a space.
        place = tempfile.TemporaryDirectory(prefix="lockring-agent-")
        self.addCleanup(place.cleanup)
        agent = Path(place.name) / "agent"
        # Hosts do not share a folder for temporary files: two daemons would make the same one at once.
        agent.write_text('#!/usr/bin/env bash\nexport TMPDIR="${0%/*}/$1"\nmkdir -p "$TMPDIR"\nshift\nexec bash -c "$*"\n')
        agent.chmod(0o755)
        folder = self.root / "two hosts"
        starter = [MPIRUN, "--mca", "plm_rsh_agent", agent, "--host", "hosta:1,hostb:1", "-np", "2"]
        process = self.launch(folder, "--restarts", "1", starter=starter)
        wait_until(lambda: self.epochs(folder), process)
        pids = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and self.is_rank_of(pid, folder)]
        victim = next(pid for pid in pids if b"OMPI_COMM_WORLD_RANK=1\0" in Path(f"/proc/{pid}/environ").read_bytes())
        os.kill(victim, signal.SIGKILL)
        wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), process)
        before = len(self.epochs(folder))
        wait_until(lambda: len(self.epochs(folder)) > before, process)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate()
        self.assertIn("host hostb: rank 1 was ended by signal 9; it is left out, and there are still hosta", errors)
        self.assertIn("--host hosta:1 -np 1 ", errors)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM, errors)

    def is_rank_of(self, pid, folder):
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            return False
        return command[:2] == [PROGRAM.encode(), b"train"] and os.fsencode(folder) in command

    def test_a_mistake_is_not_repeated(self):
        result = self.finish([PROGRAM, "launch", "--restarts", "5", "--", *mpirun(
            2, PROGRAM, *TRAIN, "--shards", "3", "--data-dir", self.data, "--run-dir", self.root / "mistake")], code=2)
        self.assertIn("it would fail again", result.stderr)
        self.assertNotIn("attempt 2", result.stderr)

    # parameter servers

    def train(self, ranks, name, *more, code=0):
        folder = self.root / name
        command = [*TRAIN, "--data-dir", self.data, "--run-dir", folder, "--quiet", "--json", *more]
        result = self.finish(mpirun(ranks, PROGRAM, *command) if ranks else [PROGRAM, *command], code=code)
        return folder, result

    def test_parameter_servers_give_the_bits_of_one_process(self):
        recipe = ["--epochs", "2", "--shards", "2", "--clip-norm", "0.5", "--ema", "0.9"]
        alone, _ = self.train(0, "alone", *recipe)
        for ranks, servers in ((2, 1), (3, 1), (4, 2)):
            folder, result = self.train(ranks, f"{servers} of {ranks} serve", *recipe, "--strategy", "parameter-server",
                                        "--servers", str(servers))
            for file in ("last.safetensors", "best.safetensors"):
                self.assertEqual((folder / file).read_bytes(), (alone / file).read_bytes(), folder.name)
            self.assertEqual(json.loads(result.stdout)["replicas"], ranks - servers)

    def test_a_run_moves_between_strategies(self):
        recipe = ["--epochs", "2", "--shards", "2"]
        whole, _ = self.train(0, "whole", *recipe)
        folder, _ = self.train(3, "moved", *recipe, "--strategy", "parameter-server", "--max-steps", "7")
        self.train(3, "moved", *recipe, "--strategy", "parameter-server", "--resume", "--max-steps", "12")
        self.train(0, "moved", *recipe, "--resume")
        self.assertEqual((folder / "last.safetensors").read_bytes(), (whole / "last.safetensors").read_bytes())

    def test_asynchronous_workers_learn(self):
        folder, result = self.train(3, "asynchronous", "--epochs", "6", "--strategy", "parameter-server", "--staleness", "2")
        self.assertGreater(json.loads(result.stdout)["test_accuracy"], 0.5)
        last = json.loads((folder / "metrics.jsonl").read_text().splitlines()[-1])
        self.assertGreater(last["train_accuracy"], 0.5)

    def test_a_signal_to_a_server_saves_and_stops(self):
        folder = self.root / "served"
        process = self.launch(folder, starter=(MPIRUN, "--oversubscribe", "-np", "3"), train=(
            "--strategy", "parameter-server"))
        wait_until(lambda: self.epochs(folder), process)
        server = next(pid for pid in self.ranks_of(process)
                      if b"OMPI_COMM_WORLD_RANK=2\0" in Path(f"/proc/{pid}/environ").read_bytes())
        os.kill(server, signal.SIGTERM)
        _, errors = process.communicate()
        self.assertIn("go on with: lockring train", errors)
        self.assertEqual(json.loads((folder / "status.json").read_text())["state"], "stopped")

    def test_mistakes_with_servers_are_named(self):
        for options, part in ((["--servers", "3"], "--servers 3: expected at least one, and fewer than the 3 ranks"),
                              (["--staleness", "1", "--clip-norm", "1"], "--clip-norm needs the gradient of all workers"),
                              (["--allreduce", "ring"], "--allreduce ring: with parameter servers")):
            _, result = self.train(3, "mistaken", "--strategy", "parameter-server", *options, code=2)
            self.assertIn(part, result.stderr)

    def test_strategies_are_measured_side_by_side(self):
        rows = json.loads(self.finish(mpirun(3, PROGRAM, "bench", "strategies", "--seconds", "0.05", "--json")).stdout)
        self.assertEqual([(row["workers"], row["servers"]) for row in rows],
                         [(3, 0), (3, 0), (2, 1), (2, 1), (1, 2), (1, 2)])
        ring, two_to_one = rows[1]["busiest_rank_bytes"], rows[2]["busiest_rank_bytes"]
        self.assertGreater(two_to_one, 1.4 * ring, "one server moves 4 n bytes, a rank of the ring 8/3 n")
        self.assertLess(rows[4]["busiest_rank_bytes"], 0.3 * two_to_one, "half the slice, for one worker")

    # data

    def trained(self, command):
        return json.loads(self.finish(command).stdout)

    def test_ranks_of_a_machine_read_and_prepare_once(self):
        """Four ranks and an empty cache, again and again: each time all see the same images."""
        results = set()
        for attempt in range(5):
            cache = self.root / f"cache {attempt}"
            result = self.trained(mpirun(
                4, PROGRAM, *TRAIN, "--epochs", "1", "--augment", "resize:20x20", "--cache-dir", cache, "--shards", "4",
                "--cache-memory", "auto" if attempt % 2 else "64K", "--data-dir", self.data,
                "--run-dir", self.root / f"cold {attempt}", "--quiet", "--json"))
            results.add(result["test_accuracy"])
        self.assertEqual(len(results), 1, results)

    def test_a_machine_without_the_data_set_gets_it(self):
        """Each host has a data directory of its own; only the first rank's holds something."""
        there = self.root / "hosts data"
        there.mkdir()
        (there / "0").symlink_to(self.data)
        script = f'exec "{PROGRAM}" {" ".join(TRAIN)} --epochs 1 --quiet --json ' \
                 f'--data-dir "{there}/$OMPI_COMM_WORLD_RANK" --run-dir "{self.root}/copied"'
        result = self.trained([HOSTS, "--hosts", 2, "bash", "-c", script])
        self.assertEqual(result["replicas"], 2)
        self.finish([PROGRAM, "data", "verify", "--dataset", "small", "--data-dir", there / "1"])

    def test_a_copy_that_cannot_be_stored_ends_the_job(self):
        there = self.root / "closed data"
        there.mkdir()
        (there / "0").symlink_to(self.data)
        (there / "1").write_text("no folder")
        script = f'exec "{PROGRAM}" {" ".join(TRAIN)} --epochs 1 --quiet --data-dir "{there}/$OMPI_COMM_WORLD_RANK" ' \
                 f'--run-dir "{self.root}/closed"'
        result = self.finish([HOSTS, "--hosts", 2, "bash", "-c", script], code=3)
        self.assertRegex(result.stderr, r"rank 1 on \S+, start: cannot make .*closed data/1")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
