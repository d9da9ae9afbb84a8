#!/usr/bin/env python3
"""Servers from their start to their end: versions that come and go, requests under way at SIGTERM, splits, keys.

serve_life_test.py PROGRAM [ARGUMENTS OF unittest]
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

from background import PATIENCE, wait_until
from serving import Server, ServingTest, float32, infer_body, probabilities

PROGRAM = sys.argv[1]


class LifeTest(ServingTest):
    def test_versions_come_and_go_without_a_lost_request(self):
        models = self.root / "models"
        self.add_version(models, 1, self.bundles[0])
        with Server(PROGRAM, self.root, "--repository", models) as server:
            with self.asked_all_the_time(server):
                load = lambda: server.post("/v2/repository/models/m/load")
                self.add_version(models, 2, self.bundles[1])
                self.assertEqual(load().status, 200)
                self.assertEqual(server.get("/v2/models/m").json["versions"], ["2"])
                self.assert_answers(probabilities(server.infer("m", self.images[:1])), "second")
                half = models / "m" / "3.part"
                half.mkdir()
                (half / "model.safetensors").write_bytes(self.bundles[0].read_bytes()[:5000])
                self.assertEqual(load().status, 200, "what is not renamed is not there")
                half.rename(models / "m" / "3")
                refused = load()
                self.assertEqual(refused.status, 400)
                self.assertIn("cannot be served in version 3", refused.json["error"])
                index = server.post("/v2/repository/index").json
                self.assertEqual(
                    [(row["version"], row["state"]) for row in index], [("2", "READY"), ("3", "UNAVAILABLE")]
                )
                self.assertEqual(server.get("/v2/health/ready").status, 200, "later loads do not flip it")
                shutil.rmtree(models / "m" / "3")
                for _ in range(15):
                    self.assertEqual(load().status, 200)
            self.assertEqual(server.post("/v2/repository/models/m/unload").status, 200)
            gone = server.infer("m", self.images[:1])
            self.assertEqual((gone.status, "retry-after" in gone.headers), (503, True))
            self.assertEqual(server.post("/v2/repository/models/m/load").status, 200)
            self.assert_answers(probabilities(server.infer("m", self.images[:1])), "second")

    def test_versions_are_served_side_by_side_and_found_by_themselves(self):
        models = self.root / "polled"
        for version in (1, 2):
            self.add_version(models, version, self.bundles[version - 1])
        arguments = ["--repository", models, "--version-policy", "m=latest:2", "--repository-poll-secs", "0.02"]
        with Server(PROGRAM, self.root, *arguments) as server:
            of = lambda version, **how: server.infer(f"m/versions/{version}", self.images[:1], **how)
            self.assertEqual(server.get("/v2/models/m").json["versions"], ["2", "1"])
            for version, said in (("1", "first"), ("2", "second")):
                reply = of(version)
                self.assertEqual(reply.json["model_version"], version)
                self.assert_answers(probabilities(reply), said)
                self.assertEqual(server.get(f"/v2/models/m/versions/{version}/ready").status, 200)
                self.assertEqual(server.metric("nv_inference_request_success", f'version="{version}"'), 1)
                body = json.dumps({"instances": [list(self.images[0])]})
                predicted = server.post(f"/v1/models/m/versions/{version}:predict", body)
                self.assertEqual(predicted.status, 200)
                status = server.get(f"/v1/models/m/versions/{version}").json["model_version_status"]
                self.assertEqual([(row["version"], row["state"]) for row in status], [(version, "AVAILABLE")])
            self.assert_answers(probabilities(server.infer("m", self.images[:1])), "second")
            stats = server.get("/v2/models/m/stats").json["model_stats"]
            self.assertEqual([row["version"] for row in stats], ["2", "1"])
            self.assertEqual((of("3").status, server.get("/v2/models/m/versions/3").status), (404, 404))

            with self.asked_all_the_time(server):
                draft = models / "m" / "3"  # not as one should: it grows where it is looked for
                draft.mkdir()
                whole = self.bundles[0].read_bytes()
                with (draft / "model.safetensors").open("wb") as file:
                    for at in range(0, len(whole), len(whole) // 8 + 1):
                        file.write(whole[at : at + len(whole) // 8 + 1])
                        file.flush()
                        time.sleep(0.03)
                wait_until(lambda: of("3").status == 200)
                self.assert_answers(probabilities(server.infer("m", self.images[:1])), "first")
                wait_until(lambda: of("1").status == 404)
                damaged = models / "m" / ".4"
                damaged.mkdir()
                (damaged / "model.safetensors").write_bytes(whole[:-9] + b"x" * 9)
                damaged.rename(models / "m" / "4")
                wait_until(lambda: of("4").status == 503)
                states = server.get("/v1/models/m").json["model_version_status"]
                self.assertEqual(
                    [(row["version"], row["state"]) for row in states],
                    [("3", "AVAILABLE"), ("2", "AVAILABLE"), ("4", "END")],
                )
                shutil.rmtree(models / "m" / "3")
                wait_until(lambda: of("3").status == 404)
                self.assert_answers(probabilities(server.infer("m", self.images[:1])), "second")

    @contextlib.contextmanager
    def asked_all_the_time(self, server):
        """Clients ask the model m while a `with` block runs; it must answer each time, as one of the two bundles does."""
        failed, done = [], threading.Event()

        def client():
            connection = server.connect()
            while not done.is_set():
                reply = server.infer("m", self.images[:1], connection=connection)
                row = [float32(v) for v in probabilities(reply)[0]] if reply.status == 200 else None
                if row not in (self.expected["first"][0], self.expected["second"][0]):
                    failed.append((reply.status, reply.body))
            connection.close()

        threads = [threading.Thread(target=client) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            done.set()
            for thread in threads:
                thread.join()
        self.assertEqual(failed, [])

    @staticmethod
    def add_version(models, version, bundle):
        draft = models / "m" / f".{version}"
        draft.mkdir(parents=True)
        shutil.copy(bundle, draft / "model.safetensors")
        draft.rename(models / "m" / str(version))

    def test_requests_leave_no_memory_behind(self):
        """LOCKRING_STRESS says how many; a million is for a quiet hour."""
        if re.search(b"__[at]san_", Path(PROGRAM).read_bytes()):
            self.skipTest("a sanitizer keeps what was freed")
        requests = int(os.environ.get("LOCKRING_STRESS", 20_000))
        with Server(PROGRAM, self.root, self.bundles[0]) as server:
            status = Path(f"/proc/{server.process.pid}/status")
            resident = lambda: int(re.search(r"VmRSS:\s+(\d+)", status.read_text())[1])

            def load(count):
                url = f"http://127.0.0.1:{server.port}"
                command = [PROGRAM, "load", url, "--connections", "8", "--requests", str(count), "--json"]
                done = subprocess.run(command, check=True, capture_output=True)
                self.assertEqual(json.loads(done.stdout)["statuses"], {"200": count})

            # Queues grow to their most at times that nobody can tell: warm is who stays as he is once.
            for _ in range(6):
                before = resident()
                load(requests)
                growth = resident() / before - 1
                if growth < 0.01:
                    return
            self.fail(f"{requests} requests, time after time, and {growth:.1%} more memory at the last")

    def test_a_server_that_is_told_to_end_answers_what_it_has(self):
        with Server(PROGRAM, self.root, self.bundles[0], "--access-log", self.root / "access.log") as server:
            stop, failed, answered = threading.Event(), [], [0]

            def client():
                connection = server.connect()
                while not stop.is_set():
                    try:
                        connection.request("POST", "/v2/models/first/infer", json.dumps(infer_body(self.images[:1])))
                        reply = connection.getresponse()
                        body = reply.read()
                    except OSError:
                        return  # closed while idle, which it may be
                    answered[0] += 1
                    if reply.status != 200:
                        failed.append(body)
                    if reply.getheader("connection") == "close":
                        return

            threads = [threading.Thread(target=client) for _ in range(4)]
            for thread in threads:
                thread.start()
            idle = server.socket()
            wait_until(lambda: answered[0] >= 50 or not any(thread.is_alive() for thread in threads))
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(server.process.wait(PATIENCE), 0)
            stop.set()
            for thread in threads:
                thread.join()
            idle.close()
            self.assertEqual(failed, [])
        lines = [json.loads(line) for line in (self.root / "access.log").read_text().splitlines()]
        self.assertGreaterEqual(len(lines), answered[0])
        self.assertEqual({line["status"] for line in lines if line["method"] == "POST"}, {200})

    def test_splits_shadows_and_keys(self):
        key = self.root / "key"
        key.write_text("secret\n")
        arguments = [
            f"a={self.bundles[0]}",
            f"b={self.bundles[1]}",
            "--split",
            "ab=a:1,b:1",
            "--split",
            "watched=a",
            "--shadow",
            "watched=b:1",
            "--api-key-file",
            key,
            "--ensemble",
            "vote",
            "--policy",
            "any",
        ]
        with Server(PROGRAM, self.root, *arguments) as server:
            self.assertEqual(server.get("/v2/health/ready").status, 200)
            self.assertEqual(server.get("/").status, 200)
            self.assertEqual(server.infer("ab", self.images[:1]).status, 401)
            self.assertEqual(server.infer("ab", self.images[:1], headers={"X-API-Key": "other"}).status, 403)
            arms = {}
            for user in range(20):
                headers = {"Authorization": "Bearer secret", "X-Session-Id": f"user {user}"}
                seen = {
                    server.infer("ab", self.images[:1], headers=headers).json["parameters"]["arm"] for _ in range(3)
                }
                self.assertEqual(len(seen), 1)
                arms[user] = seen.pop()
            self.assertEqual(set(arms.values()), {"a", "b"})
            allowed = {"X-API-Key": "secret"}
            self.assertEqual(server.infer("watched", self.images, headers=allowed).status, 200)
            self.assertEqual(server.infer("ensemble", self.images, headers=allowed).status, 200)
            metrics = server.get("/metrics", headers=allowed).body.decode()
            self.assertIn('lockring_arm_requests_total{model="ab",version="1",arm="a",outcome="ok"}', metrics)

    def test_what_cannot_be_served_is_said(self):
        def refused(code, part, *arguments):
            port = [] if "--port" in arguments else ["--port", "0"]
            command = [PROGRAM, "serve", *map(str, arguments), *port]
            done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(part, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

        refused(2, "expected a selection")
        refused(3, "nothing.safetensors", self.root / "nothing.safetensors")
        damaged = self.root / "damaged.safetensors"
        damaged.write_bytes(self.bundles[0].read_bytes()[:-50])
        refused(3, "damaged.safetensors", damaged)
        refused(2, "--replicas", self.bundles[0], "--replicas", "none")
        refused(2, "no model 'x'", self.bundles[0], "--split", "s=x:1")
        changed = json.loads((self.root / "selection.json").read_text())
        changed["models"][0]["sha256"] = "0" * 64
        (self.root / "changed.json").write_text(json.dumps(changed))
        refused(3, "expected the SHA-256 000", self.root / "changed.json")
        refused(2, f"{self.server.port}", self.bundles[0], "--port", self.server.port)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
