#!/usr/bin/env python3
"""Three servers behind a balancer, one of them killed under load: no request is lost. Ours, nginx and HAProxy with the
configurations of scripts/deploy.

    balance_test.py PROGRAM SAMPLE_SERVER CONFIGURATIONS [ARGUMENTS OF unittest]
"""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import urllib.request
from pathlib import Path

from background import PATIENCE, free_port, wait_until

PROGRAM, SERVER, CONFIGURATIONS = sys.argv[1], sys.argv[2], Path(sys.argv[3])


@contextlib.contextmanager
def running(command, **options):
    with subprocess.Popen([*map(str, command)], text=True, **options) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def start_servers(stack, count=3, options=()):
    servers = []
    for _ in range(count):
        server = stack.enter_context(running([SERVER, "--threads", "1", *options], stdout=subprocess.PIPE))
        server.port = int(server.stdout.readline())
        servers.append(server)
    return servers


def start_ours(stack, servers, *options):
    """(process, url)"""
    backends = [word for server in servers for word in ("--backend", f"http://127.0.0.1:{server.port}")]
    balancer = stack.enter_context(
        running([PROGRAM, "balance", "--port", 0, "--json", *backends, *options], stdout=subprocess.PIPE))
    return balancer, json.loads(balancer.stdout.readline())["url"]


def get(url, path="/", headers=()):
    with urllib.request.urlopen(urllib.request.Request(url + path, headers=dict(headers)), timeout=PATIENCE) as answer:
        return answer.read().decode()


def wait_for(condition):
    def holds():
        with contextlib.suppress(OSError):
            return condition()

    wait_until(holds)


class Load:
    """An endless load that a test stops; then what came of it."""

    def __init__(self, stack, url, connections=8):
        self.process = stack.enter_context(
            running([PROGRAM, "load", url + "/constant", "--connections", connections, "--duration", "1h", "--json"],
                    stdout=subprocess.PIPE))

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        return json.loads(self.process.communicate(timeout=PATIENCE)[0])


def metric(url, name, server):
    found = re.search(rf'^lockring_balance_{name}{{backend="127.0.0.1:{server.port}"}} (\S+)', get(url, "/metrics"), re.M)
    return float(found[1])


class Ours(unittest.TestCase):
    def setUp(self):
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)

    def check_result(self, result):
        self.assertEqual(result["failures"], 0, result)
        self.assertEqual(set(result["statuses"]), {"200"}, result)

    def test_a_killed_backend_costs_no_request(self):
        servers = start_servers(self.stack)
        _, url = start_ours(self.stack, servers, "--health-interval-ms", 100)
        load = Load(self.stack, url)
        wait_for(lambda: all(metric(url, "backend_requests_total", server) > 50 for server in servers))
        servers[0].kill()
        wait_for(lambda: metric(url, "backend_up", servers[0]) == 0)
        before = metric(url, "backend_requests_total", servers[1])
        wait_for(lambda: metric(url, "backend_requests_total", servers[1]) > before + 50)
        self.check_result(load.stop())

    def test_a_backend_that_drains_costs_no_request(self):
        servers = start_servers(self.stack)
        _, url = start_ours(self.stack, servers, "--health-interval-ms", 100)
        load = Load(self.stack, url)
        wait_for(lambda: all(metric(url, "backend_requests_total", server) > 50 for server in servers))
        servers[0].send_signal(signal.SIGTERM)
        self.assertEqual(servers[0].wait(PATIENCE), 0)
        wait_for(lambda: metric(url, "backend_up", servers[0]) == 0)
        self.check_result(load.stop())

    def test_the_balancer_drains(self):
        servers = start_servers(self.stack, 2)
        balancer, url = start_ours(self.stack, servers)
        load = Load(self.stack, url)
        wait_for(lambda: metric(url, "backend_requests_total", servers[0]) > 50)
        balancer.send_signal(signal.SIGTERM)
        self.assertEqual(balancer.wait(PATIENCE), 0)
        result = load.stop()
        # Each connection is told; who comes back then finds nobody.
        self.assertEqual(set(result["errors"]) - {"not connected"}, set(), result)
        self.assertEqual(set(result["statuses"]), {"200"}, result)

    def test_readiness(self):
        servers = start_servers(self.stack, 1)
        _, url = start_ours(self.stack, servers, "--health-interval-ms", 50)
        self.assertEqual(json.loads(get(url, "/v2/health/ready")), {"ready": True})
        self.assertEqual(json.loads(get(url, "/v2/health/live")), {"live": True})
        servers[0].kill()

        def refuses():
            try:
                get(url, "/v2/health/ready")
            except urllib.error.HTTPError as error:
                return error.code == 503 and "error" in json.loads(error.read())
        wait_for(refuses)

    def test_mistakes(self):
        def complaint(*arguments):
            run = subprocess.run([PROGRAM, "balance", *arguments], capture_output=True, text=True, timeout=PATIENCE)
            return run.returncode, run.stderr
        for arguments, code, part in (
                ([], 2, "--backend"),
                (["--backend", "ftp://x"], 2, "http://"),
                (["--backend", "http://nowhere.invalid:1"], 4, "nowhere.invalid"),
                (["--backend", "localhost:1", "--backend", "http://localhost:1"], 2, "twice"),
                (["--backend", "localhost:1", "--policy", "hash"], 2, "--hash-header"),
                (["--backend", "localhost:1", "--policy", "rround-robin"], 2, "round-robin"),
                (["--backend", "localhost:1", "--tls-cert", "/nowhere"], 2, "key"),
                (["--backend", "localhost:1", "--host", "nowhere.invalid"], 2, "nowhere.invalid")):
            found, text = complaint(*arguments)
            self.assertEqual(found, code, text)
            self.assertIn(part, text)


class Tls(unittest.TestCase):
    """A client that speaks TLS to a balancer that speaks TLS to its backends; each is known by its certificate."""

    def test_both_sides(self):
        with contextlib.ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            certificate, key = folder / "cert.pem", folder / "key.pem"
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=x",
                            "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
                           check=True, capture_output=True)
            servers = start_servers(stack, 2, ["--tls", certificate, key])
            backends = [word for server in servers for word in ("--backend", f"https://127.0.0.1:{server.port}")]
            command = [PROGRAM, "balance", "--port", 0, "--json", *backends, "--tls-cert", certificate, "--tls-key", key]
            trusting = stack.enter_context(running([*command, "--ca", certificate], stdout=subprocess.PIPE))
            doubting = stack.enter_context(running(command, stdout=subprocess.PIPE))
            url, refused = (json.loads(balancer.stdout.readline())["url"] for balancer in (trusting, doubting))
            self.assertTrue(url.startswith("https://"))

            def load(url, *options):
                run = subprocess.run([PROGRAM, "load", url + "/constant", "--requests", "50", "--json", *options],
                                     capture_output=True, text=True, timeout=PATIENCE)
                return json.loads(run.stdout) if run.stdout else run.stderr
            self.assertEqual(load(url, "--ca", certificate)["statuses"], {"200": 50})
            self.assertEqual(load(url, "--insecure")["statuses"], {"200": 50})
            self.assertIn("no connection", load(url))  # a certificate that nobody vouches for
            self.assertNotIn("200", load(refused, "--ca", certificate)["statuses"])


def configuration(name, servers, port, folder):
    """That file of scripts/deploy, for servers of this test."""
    text = (CONFIGURATIONS / name).read_text()
    for standing, server in zip((8001, 8002, 8003), servers):
        text = text.replace(f"127.0.0.1:{standing}", f"127.0.0.1:{server.port}")
    text = text.replace("127.0.0.1:8080", f"127.0.0.1:{port}").replace("/tmp/lockring-nginx", f"{folder}/nginx")
    path = Path(folder) / name
    path.write_text(text)
    return path


class Others(unittest.TestCase):
    def check_balancer(self, program, name, *command):
        if not shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin"):
            self.skipTest(f"{program} is not installed")
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            os.chmod(folder, 0o777)
            servers = start_servers(stack)
            port = free_port()
            path = configuration(name, servers, port, folder)
            environment = {**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin"}
            balancer = stack.enter_context(running([*command, path], env=environment, stderr=subprocess.DEVNULL))
            url = f"http://127.0.0.1:{port}"
            wait_for(lambda: get(url, "/good") == "GET /good 0 ")
            load = Load(stack, url)
            wait_for(lambda: all(cpu_ticks(server) > 2 for server in servers))
            servers[0].kill()
            servers[0].wait()
            before = [cpu_ticks(server) for server in servers[1:]]
            wait_for(lambda: all(cpu_ticks(s) > b + 5 for s, b in zip(servers[1:], before)))
            result = load.stop()
            self.assertEqual(result["failures"], 0, result)
            self.assertEqual(set(result["statuses"]), {"200"}, result)
            balancer.send_signal(signal.SIGTERM)
            balancer.wait(PATIENCE)

    def test_nginx(self):
        self.check_balancer("nginx", "nginx.conf", "nginx", "-g", "daemon off;", "-c")

    def test_haproxy(self):
        self.check_balancer("haproxy", "haproxy.cfg", "haproxy", "-db", "-f")


def cpu_ticks(server):
    """How much a server has computed: that it gets requests."""
    fields = Path(f"/proc/{server.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
