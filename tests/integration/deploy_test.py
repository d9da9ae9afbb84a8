#!/usr/bin/env python3
"""What scripts/deploy describes fits the program and the tools that read it.

    deploy_test.py PROGRAM DEPLOY [ARGUMENTS OF unittest]
"""
import re
import shlex
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

try:
    import yaml
except ImportError:
    print("skipped: there is no PyYAML")
    sys.exit(77)

PROGRAM, DEPLOY = sys.argv[1], Path(sys.argv[2])


def options_of(command):
    text = subprocess.run([PROGRAM, *command, "--help"], check=True, text=True, stdout=subprocess.PIPE).stdout
    return set(re.findall(r"--[a-z][a-z-]*", text))


class ManifestTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.documents = list(yaml.safe_load_all((DEPLOY / "mpijob.yaml").read_text()))
        cls.job = next(document for document in cls.documents if document["kind"] == "MPIJob")

    def pods(self):
        return {role: spec["template"]["spec"] for role, spec in self.job["spec"]["mpiReplicaSpecs"].items()}

    def test_is_a_job_of_the_operator(self):
        self.assertEqual(self.job["apiVersion"], "kubeflow.org/v2beta1")
        self.assertRegex(self.job["metadata"]["name"], r"^[a-z0-9-]+$")
        spec = self.job["spec"]
        self.assertIn(spec["runPolicy"]["cleanPodPolicy"], ("None", "Running", "All"))
        self.assertEqual(set(spec["mpiReplicaSpecs"]), {"Launcher", "Worker"})
        self.assertEqual(spec["mpiReplicaSpecs"]["Launcher"]["replicas"], 1)
        for role in spec["mpiReplicaSpecs"].values():
            self.assertIn(role["restartPolicy"], ("Never", "OnFailure"))

    def test_every_pod_has_an_image_and_limits(self):
        for role, pod in self.pods().items():
            for container in pod["containers"]:
                self.assertTrue(container["image"], role)
                self.assertIn("memory", container["resources"]["limits"], role)

    def test_mounted_volumes_are_there(self):
        claims = {document["metadata"]["name"] for document in self.documents
                  if document["kind"] == "PersistentVolumeClaim"}
        for role, pod in self.pods().items():
            volumes = {volume["name"]: volume for volume in pod["volumes"]}
            mounted = {mount["name"] for container in pod["containers"] for mount in container["volumeMounts"]}
            self.assertEqual(mounted, set(volumes), role)
            for volume in volumes.values():
                claim = volume.get("persistentVolumeClaim")
                if claim:
                    self.assertIn(claim["claimName"], claims)

    def test_ranks_fill_the_slots(self):
        launcher = self.pods()["Launcher"]["containers"][0]
        words = [*launcher["command"], *launcher["args"]]
        self.assertTrue(all(isinstance(word, str) for word in words), "YAML took a word for something else")
        spec = self.job["spec"]
        slots = spec["slotsPerWorker"] * spec["mpiReplicaSpecs"]["Worker"]["replicas"]
        self.assertEqual(words[words.index("-np") + 1], str(slots))

    def test_options_are_known_to_the_program(self):
        launcher = self.pods()["Launcher"]["containers"][0]
        words = [*launcher["command"], *launcher["args"]]
        self.assertEqual(words[:2], ["lockring", "launch"])
        behind = words.index("--")
        self.assertLessEqual({w for w in words[:behind] if w.startswith("--")}, options_of(["launch"]))
        train = words.index("train")
        self.assertEqual(words[train - 1], "lockring")
        self.assertLessEqual({w for w in words[train:] if w.startswith("--")}, options_of(["train"]))
        self.assertIn("--run-dir", words[train:], "a restart finds its checkpoint by it")


class DockerfileTest(unittest.TestCase):
    text = re.sub(r"\\\n", " ", re.sub(r"^\s*#.*\n", "", (DEPLOY / "Dockerfile").read_text(), flags=re.M))

    def test_copies_from_stages_that_are_there(self):
        stages = re.findall(r"^FROM \S+(?: AS (\S+))?", self.text, re.M)
        self.assertEqual(len(stages), 2)
        for stage in re.findall(r"COPY --from=(\S+)", self.text):
            self.assertIn(stage, stages[:-1])

    def test_runs_without_rights(self):
        final = self.text[self.text.rindex("\nFROM "):]
        self.assertRegex(final, r"\nUSER (?!root)\w+")

    def test_installs_what_the_program_is_linked_with(self):
        if not shutil.which("dpkg") or "bookworm" not in Path("/etc/os-release").read_text():
            self.skipTest("packages have these names on Debian 12")
        final = self.text[self.text.rindex("\nFROM "):]
        installed = set(re.search(r"apt-get install([^&]*)", final).group(1).split())
        dynamic = subprocess.run(["readelf", "-d", PROGRAM], check=True, text=True, stdout=subprocess.PIPE).stdout
        for library in re.findall(r"\(NEEDED\)\s+Shared library: \[(.+)\]", dynamic):
            owner = subprocess.run(["dpkg", "-S", f"*/{library}"], text=True, capture_output=True).stdout
            packages = {line.split(":")[0] for line in owner.splitlines()}
            always = {"libc6", "libstdc++6", "libgcc-s1", "libmvec1"}
            sanitizers = {"libasan8", "libubsan1", "libtsan2"}
            self.assertTrue(packages & (installed | always | sanitizers), f"{library} is in {packages or 'no package'}")


class ScriptsTest(unittest.TestCase):
    def test_slurm_script_is_whole(self):
        script = DEPLOY / "train.sbatch"
        subprocess.run(["bash", "-n", script], check=True)
        lines = script.read_text().splitlines()
        wanted = dict(line[len("#SBATCH --"):].split("=", 1) for line in lines
                      if line.startswith("#SBATCH --") and "=" in line)
        for option in ("nodes", "ntasks-per-node", "cpus-per-task", "time", "signal"):
            self.assertIn(option, wanted)
        last_directive = max(i for i, line in enumerate(lines) if line.startswith("#SBATCH"))
        first_command = next(i for i, line in enumerate(lines) if line and not line.startswith("#"))
        self.assertLess(last_directive, first_command, "Slurm reads none behind the first command")

    def test_slurm_script_resumes_and_queues_again(self):
        """With stand-ins for Slurm's commands, which note what they are asked."""
        import tempfile
        with tempfile.TemporaryDirectory(prefix="lockring deploy ") as folder:
            folder = Path(folder)
            for name, code in (("srun", 143), ("scontrol", 0)):
                tool = folder / name
                tool.write_text(f'#!/bin/sh\necho "{name} $*" >> {shlex.quote(str(folder / "log"))}\nexit {code}\n')
                tool.chmod(0o755)
            run = folder / "run"
            environment = {"PATH": f"{folder}:/usr/bin:/bin", "SLURM_JOB_ID": "17"}
            command = ["bash", DEPLOY / "train.sbatch", run, "--recipe", "quick"]
            first = subprocess.run(command, env=environment)
            run.mkdir()
            (run / "last.safetensors").touch()
            subprocess.run(command, env=environment)
            log = (folder / "log").read_text().splitlines()
            self.assertEqual(first.returncode, 143)
            self.assertIn(f"lockring train --run-dir {run} --recipe quick", log[0])
            self.assertEqual(log[1], "scontrol requeue 17")
            self.assertIn(f"lockring train --run-dir {run} --resume --recipe quick", log[2])

    def test_hostfile_has_hosts_with_slots(self):
        lines = [line.split("#")[0].split() for line in (DEPLOY / "hosts").read_text().splitlines()]
        hosts = [words for words in lines if words]
        self.assertGreater(len(hosts), 1)
        for name, slots in hosts:
            self.assertRegex(slots, r"^slots=\d+$", name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
