#!/usr/bin/env python3
"""Clients that are slow or many, TLS, and how the HTTP server ends.

    http_limits_test.py SAMPLE_SERVER [ARGUMENTS OF unittest]
"""
import contextlib
import json
import re
import select
import signal
import ssl
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

from background import PATIENCE, wait_until
from http_support import CHUNKED, GOOD, SERVER, Client, connections_of, cpu_seconds, post, serving

FOR_EVER = 10 * PATIENCE * 1000  # milliseconds


class Slow(unittest.TestCase):
    def check_408(self, option, data, milliseconds=200):
        with serving(option, milliseconds) as server, Client(server.port) as client:
            status, fields, body = client.ask(data)
            self.assertEqual((status, fields["connection"]), (408, "close"))
            self.assertTrue(json.loads(body)["error"])

    def test_head(self):
        self.check_408("--header-ms", b"GET / HT", 2000)  # who has sent nothing by then is told nothing

    def test_body(self):
        self.check_408("--body-ms", post("Content-Length: 100", body=b"0123456789"))

    def test_chunks(self):
        self.check_408("--body-ms", post(CHUNKED, body=b"5\r\nab"))

    def test_who_says_nothing_is_closed(self):
        with serving("--header-ms", 200) as server, Client(server.port) as client:
            self.assertTrue(client.closed())

    def test_idle_connections_are_closed(self):
        with serving("--idle-ms", 200) as server, Client(server.port) as client:
            self.assertEqual(client.ask(GOOD)[0], 200)
            self.assertTrue(client.closed())

    def test_drip(self):
        """A byte now and then does not buy more time."""
        with serving("--header-ms", 2000) as server, Client(server.port) as client:
            end = time.monotonic() + PATIENCE
            client.socket.settimeout(0.05)
            while time.monotonic() < end:
                client.send(b"A")
                with contextlib.suppress(TimeoutError):
                    if not client.fill() or client.pending:
                        break
            self.assertIn(b" 408 ", client.pending)

    def test_who_does_not_read_is_closed(self):
        with serving("--write-ms", 200) as server, Client(server.port) as client:
            client.send(b"GET /large?bytes=100000000 HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertTrue(client.fill())
            wait_until(lambda: not connections_of(server))

    def test_a_slow_reader_gets_all(self):
        with serving("--write-ms", 5000) as server, Client(server.port) as client:
            client.send(b"GET /large?bytes=40000000 HTTP/1.1\r\nHost: x\r\n\r\n")
            for _ in range(24):
                time.sleep(0.25)
                for _ in range(16):
                    client.fill()
            self.assertEqual(len(client.response()[2]), 40_000_000)


class Crowds(unittest.TestCase):
    def check_served(self, client):
        """Not behind the others: each of them would take a second or more."""
        start = time.monotonic()
        self.assertEqual(client.ask(GOOD)[0], 200)
        self.assertLess(time.monotonic() - start, 20)

    def test_idle_connections_hold_up_nobody(self):
        with serving("--header-ms", FOR_EVER) as server, contextlib.ExitStack() as stack:
            for _ in range(500):
                stack.enter_context(Client(server.port))
            with Client(server.port) as good:
                self.check_served(good)

    def check_crowd(self, size, first, more, *options):
        """Many who send or read a little now and then, as slowhttptest has them: others are served, and they go."""
        with serving(*options) as server, Client(server.port) as good, contextlib.ExitStack() as stack:
            self.check_served(good)  # from then on it may be idle for longer than it takes to make a crowd
            crowd = [stack.enter_context(Client(server.port)) for _ in range(size)]
            for client in crowd:
                client.send(first)
            end = time.monotonic() + PATIENCE
            while connections_of(server) > 1:
                self.assertLess(time.monotonic(), end)
                for client in crowd:
                    more(client)
                self.check_served(good)
                time.sleep(0.1)

    def test_slow_heads(self):
        self.check_crowd(300, GOOD[:-2], lambda client: client.send(b"X-More: 1\r\n"), "--header-ms", 2000)

    def test_slow_bodies(self):
        first = post("Content-Length: 100000", body=b"x")
        self.check_crowd(300, first, lambda client: client.send(b"x"), "--body-ms", 1000)

    def test_slow_chunks(self):
        first = post(CHUNKED, body=b"1\r\nx\r\n")
        self.check_crowd(300, first, lambda client: client.send(b"1\r\nx\r\n"), "--body-ms", 1000)

    def test_slow_readers(self):
        def read_little(client):
            with contextlib.suppress(ConnectionResetError):
                client.socket.recv(5)

        first = b"GET /large?bytes=10000000 HTTP/1.1\r\nHost: x\r\n\r\n"
        self.check_crowd(30, first, read_little, "--write-ms", 1000)

    def test_too_many(self):
        with serving("--max-connections", 20) as server, contextlib.ExitStack() as stack:
            clients = [stack.enter_context(Client(server.port)) for _ in range(20)]
            for client in clients:
                self.assertEqual(client.ask(GOOD)[0], 200)
            with Client(server.port) as one_more:
                status, fields, body = one_more.ask(GOOD)
                self.assertEqual((status, fields["connection"]), (503, "close"))
                self.assertTrue(json.loads(body)["error"])
            self.assertEqual(clients[3].ask(GOOD)[0], 200)
            clients[0].__exit__()

            def has_room():
                with Client(server.port) as client:
                    found = client.ask(GOOD)
                    return found is not None and found[0] == 200
            wait_until(has_room)

    def test_no_file_descriptors_left(self):
        with serving(limit=16) as server:
            with contextlib.ExitStack() as stack:
                clients = [stack.enter_context(Client(server.port)) for _ in range(40)]
                self.assertEqual(clients[0].ask(GOOD)[0], 200)
                before = cpu_seconds(server)
                time.sleep(0.5)
                self.assertLess(cpu_seconds(server) - before, 0.3, "it is turning in circles")
                self.assertEqual(clients[0].ask(GOOD)[0], 200)

            def has_room():
                with Client(server.port) as client:
                    found = client.ask(GOOD)
                    return found is not None and found[0] == 200
            wait_until(has_room)

    def test_no_memory_left(self):
        if re.search(b"__[at]san_", Path(SERVER).read_bytes()):
            self.skipTest("a sanitizer reserves terabytes of addresses")
        with serving("--max-body", 1 << 30, memory=512 << 20) as server, Client(server.port) as good:
            self.assertEqual(good.ask(GOOD)[0], 200)
            for _ in range(3):
                with Client(server.port) as client:
                    client.send(post("Content-Length: 900000000"))
                    piece = bytes(1 << 20)
                    for _ in range(900):
                        client.send(piece)
                        if select.select([client.socket], [], [], 0)[0]:
                            break
                    self.assertEqual(client.response()[0], 503)
                self.assertEqual(good.ask(GOOD)[0], 200)

    def test_clients_that_hang_up(self):
        with serving("--threads", 2) as server:
            for _ in range(300):
                with Client(server.port) as client:
                    client.send(b"GET /later?ms=1 HTTP/1.1\r\nHost: x\r\n\r\n")
            for _ in range(300):
                with Client(server.port) as client:
                    client.send(post("Content-Length: 100", body=b"half"))
            wait_until(lambda: not connections_of(server))
            with Client(server.port) as client:
                self.assertEqual(client.ask(GOOD)[0], 200)


class Drain(unittest.TestCase):
    def test_idle_connections_do_not_hold_it_up(self):
        with serving() as server, Client(server.port) as used, Client(server.port) as unused:
            self.assertEqual(used.ask(GOOD)[0], 200)
            server.send_signal(signal.SIGTERM)
            self.assertTrue(used.closed())
            self.assertTrue(unused.closed())
            self.assertEqual(server.wait(PATIENCE), 0)

    def test_what_is_under_way_is_finished(self):
        with serving() as server, Client(server.port) as client, Client(server.port) as other:
            self.assertEqual(client.ask(GOOD)[0], 200)
            client.send(b"GET /later?ms=1000 HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertEqual(other.ask(GOOD)[0], 200)  # the server has read what came before
            server.send_signal(signal.SIGTERM)
            status, fields, _ = client.response()
            self.assertEqual((status, fields["connection"]), (200, "close"))
            self.assertEqual(server.wait(PATIENCE), 0)

    def test_no_request_is_lost_under_load(self):
        answered, lost = [], []
        started = threading.Barrier(9, timeout=PATIENCE)

        def load(port):
            with Client(port) as client:
                for i in range(1_000_000):
                    found = client.ask(GOOD)
                    if i == 100:
                        started.wait()
                    if found is None or found[0] != 200:
                        return lost.append(found)
                    if found[1].get("connection") == "close":
                        return answered.append(i)
        with serving("--threads", 2) as server:
            threads = [threading.Thread(target=load, args=[server.port]) for _ in range(8)]
            for thread in threads:
                thread.start()
            started.wait()
            server.send_signal(signal.SIGTERM)
            for thread in threads:
                thread.join(PATIENCE)
            self.assertEqual((len(answered), lost), (8, []))
            self.assertEqual(server.wait(PATIENCE), 0)


class Tls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.certificate, cls.key = Path(cls.folder.name) / "cert.pem", Path(cls.folder.name) / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", cls.key, "-out",
                        cls.certificate], check=True, capture_output=True)
        cls.context = ssl.create_default_context(cafile=cls.certificate)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def wrap(self, raw):
        return self.context.wrap_socket(raw, server_hostname="localhost")

    def serving(self, *options):
        return serving("--tls", self.certificate, self.key, *options)

    def test_requests(self):
        with self.serving() as server, Client(server.port, self.wrap) as client:
            for size in (0, 5, 100_000):
                answer = client.ask(post(f"Content-Length: {size}", body=size * b"a"))[2]
                self.assertTrue(answer.startswith(f"POST /p {size} ".encode()))
            self.assertEqual(len(client.ask(b"GET /large?bytes=3000000 HTTP/1.1\r\nHost: x\r\n\r\n")[2]), 3_000_000)
            self.assertEqual(client.ask(post("Expect: 100-continue", "Content-Length: 2"))[0], 100)
            self.assertEqual(client.ask(b"ab")[2], b"POST /p 2 ab")

    def test_the_end_is_announced(self):
        """Without it a client could not tell the end of an answer from an attacker's cut."""
        def wrap(raw):
            return self.context.wrap_socket(raw, server_hostname="localhost", suppress_ragged_eofs=False)
        with self.serving() as server, Client(server.port, wrap) as client:
            self.assertEqual(client.ask(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")[0], 200)
            self.assertTrue(client.closed())

    def test_a_stalled_handshake_does_not_hold_up_the_end(self):
        with self.serving("--header-ms", FOR_EVER) as server, Client(server.port):
            server.send_signal(signal.SIGTERM)
            self.assertEqual(server.wait(PATIENCE), 0)

    def test_a_stalled_handshake_ends(self):
        with self.serving("--header-ms", 2000) as server, Client(server.port) as stalled:
            self.assertTrue(stalled.closed())
            with Client(server.port, self.wrap) as client:
                self.assertEqual(client.ask(GOOD)[0], 200)

    def test_http_to_the_tls_port(self):
        with self.serving() as server, Client(server.port) as client:
            status, _, body = client.ask(GOOD)
            self.assertEqual(status, 400)
            self.assertIn("HTTPS", json.loads(body)["error"])

    def test_noise(self):
        with self.serving() as server:
            for data in (b"\x16\x03\x01\x00\x05hello", bytes(1000), b"\x80\x2e\x01"):
                with Client(server.port) as client:
                    client.send(data)
                    client.socket.shutdown(socket.SHUT_WR)
                    client.closed()
            with Client(server.port, self.wrap) as client:
                self.assertEqual(client.ask(GOOD)[0], 200)

    def test_drain(self):
        with self.serving() as server, Client(server.port, self.wrap) as client:
            self.assertEqual(client.ask(GOOD)[0], 200)
            server.send_signal(signal.SIGTERM)
            self.assertTrue(client.closed())
            self.assertEqual(server.wait(PATIENCE), 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[1:])
