#!/usr/bin/env python3
"""What clients do wrong, and what hostile ones do on purpose, byte by byte against the HTTP server.

    http_test.py SAMPLE_SERVER [ARGUMENTS OF unittest]

After each a good request still gets the right answer, from the same process.
"""
import contextlib
import gzip
import json
import re
import resource
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

SERVER = sys.argv[1]
PATIENCE = 60  # seconds that nothing here should need
GOOD = b"GET /good HTTP/1.1\r\nHost: x\r\n\r\n"


class Client:
    def __init__(self, port, wrap=None):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        if wrap:
            self.socket = wrap(self.socket)
        self.pending = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        """All of it, or as much as the server wants."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.socket.sendall(data)

    def fill(self):
        try:
            more = self.socket.recv(1 << 16)
        except ConnectionResetError:
            more = b""
        self.pending += more
        return bool(more)

    def response(self, body=True):
        """(status, fields, body), or None when the server has closed."""
        while b"\r\n\r\n" not in self.pending:
            if not self.fill():
                return None
        head, self.pending = self.pending.split(b"\r\n\r\n", 1)
        lines = head.decode().split("\r\n")
        fields = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines[1:])}
        size = int(fields.get("content-length", 0)) if body else 0
        while len(self.pending) < size:
            if not self.fill():
                return None
        content, self.pending = self.pending[:size], self.pending[size:]
        return int(lines[0].split()[1]), fields, content

    def ask(self, data):
        self.send(data)
        return self.response()

    def closed(self):
        """Waits for the server to close; True if nothing came before."""
        while self.fill():
            pass
        return not self.pending


@contextlib.contextmanager
def serving(*options, limit=None):
    def set_limit():
        if limit:
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))

    with subprocess.Popen([SERVER, *map(str, options)], stdout=subprocess.PIPE, text=True, preexec_fn=set_limit) as server:
        try:
            server.port = int(server.stdout.readline())
            yield server
            if server.poll() is None:
                server.send_signal(signal.SIGTERM)
            if server.wait(PATIENCE) != 0:
                raise AssertionError(f"the server ended with {server.returncode}")
        finally:
            if server.poll() is None:
                server.kill()


def resident_kib(server):
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{server.pid}/status").read_text())[1])


def request(head, body=b""):
    """Of lines: the first is the request line."""
    return "\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + body


def post(*fields, body=b""):
    return request(["POST /p HTTP/1.1", "Host: x", *fields], body)


CHUNKED = "Transfer-Encoding: chunked"

# What is to be refused: name, bytes, status.
MALFORMED = [
    # Where does the body end? Two readers must never differ (RFC 9112, section 11.2).
    ("length and chunks", post("Content-Length: 5", CHUNKED, body=b"0\r\n\r\n"), 400),
    ("no length and chunks", post("Content-Length: 0", CHUNKED, body=b"0\r\n\r\n"), 400),
    ("two lengths", post("Content-Length: 1", "Content-Length: 2", body=b"ab"), 400),
    ("the same length twice", post("Content-Length: 1", "Content-Length: 1", body=b"a"), 400),
    ("a list of lengths", post("Content-Length: 1, 1", body=b"a"), 400),
    ("coding gzip", post("Transfer-Encoding: gzip", body=b"0\r\n\r\n"), 400),
    ("coding chunked, gzip", post("Transfer-Encoding: chunked, gzip", body=b"0\r\n\r\n"), 400),
    ("coding gzip, chunked", post("Transfer-Encoding: gzip, chunked", body=b"0\r\n\r\n"), 400),
    ("coding identity", post("Transfer-Encoding: identity"), 400),
    ("coding with a tab", post("Transfer-Encoding: \x0bchunked", body=b"0\r\n\r\n"), 400),
    ("empty coding", post("Transfer-Encoding:", body=b"0\r\n\r\n"), 400),
    ("two codings", post(CHUNKED, CHUNKED, body=b"0\r\n\r\n"), 400),
    ("space before the colon", post("Transfer-Encoding : chunked", body=b"0\r\n\r\n"), 400),
    ("chunks in HTTP/1.0", request(["POST /p HTTP/1.0", CHUNKED], b"0\r\n\r\n"), 400),
    ("negative chunk", post(CHUNKED, body=b"-2\r\nab\r\n0\r\n\r\n"), 400),
    ("chunk size with 0x", post(CHUNKED, body=b"0x5\r\nabcde\r\n0\r\n\r\n"), 400),
    ("chunk size with +", post(CHUNKED, body=b"+5\r\nabcde\r\n0\r\n\r\n"), 400),
    ("chunk of 2^64", post(CHUNKED, body=b"10000000000000000\r\n"), 400),
    ("chunk of 2^64 - 1", post(CHUNKED, body=b"ffffffffffffffff\r\n"), 413),
    ("chunk longer than it says", post(CHUNKED, body=b"2\r\nabc\r\n0\r\n\r\n"), 400),
    ("chunk with bare LF", post(CHUNKED, body=b"2\nab\n0\n\n"), 400),
    ("length above 2^32", post("Content-Length: 4294967297"), 413),
    ("length above 2^64", post("Content-Length: 18446744073709551617"), 400),
    ("length with letters", post("Content-Length: 12abc"), 400),
    ("length with +", post("Content-Length: +5"), 400),
    ("negative length", post("Content-Length: -1"), 400),
    ("length as a float", post("Content-Length: 1e3"), 400),
    ("length in hex", post("Content-Length: 0x10"), 400),
    ("no length", post("Content-Length:"), 400),
    # The head.
    ("bare LF", b"GET / HTTP/1.1\nHost: x\n\n", 400),
    ("bare LF in a field", b"GET / HTTP/1.1\r\nHost: x\nA: b\r\n\r\n", 400),
    ("bare CR in a field", b"GET / HTTP/1.1\r\nHost: x\r\nA: b\rC: d\r\n\r\n", 400),
    ("NUL in a field", b"GET / HTTP/1.1\r\nHost: x\r\nA: b\x00c\r\n\r\n", 400),
    ("folded line", b"GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n", 400),
    ("folded first line", b"GET / HTTP/1.1\r\n Host: x\r\n\r\n", 400),
    ("folded length", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length:\r\n 5\r\n\r\nabcde", 400),
    ("field without a colon", b"GET / HTTP/1.1\r\nHost: x\r\nabc\r\n\r\n", 400),
    ("field without a name", b"GET / HTTP/1.1\r\nHost: x\r\n: abc\r\n\r\n", 400),
    ("no Host", b"GET / HTTP/1.1\r\n\r\n", 400),
    ("two Hosts", b"GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n", 400),
    ("Host with a path", b"GET / HTTP/1.1\r\nHost: x/y\r\n\r\n", 400),
    ("another expectation", post("Expect: miracles", "Content-Length: 1"), 417),
    ("too many fields", request(["GET / HTTP/1.1", "Host: x", *[f"A{i}: b" for i in range(10_000)]]), 431),
    ("more than 100 fields", request(["GET / HTTP/1.1", "Host: x", *[f"A{i}: b" for i in range(100)]]), 431),
    ("long field", request(["GET / HTTP/1.1", "Host: x", "A: " + 100_000 * "b"]), 431),
    ("endless field", b"GET / HTTP/1.1\r\nA: " + 1_000_000 * b"b", 431),
    # The request line.
    ("long target", request(["GET /" + 9000 * "a" + " HTTP/1.1", "Host: x"]), 414),
    ("endless target", b"GET /" + 1_000_000 * b"a", 414),
    ("HTTP/0.9", b"GET /\r\n", 400),
    ("HTTP/2.0", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    ("HTTP/1.2", b"GET / HTTP/1.2\r\nHost: x\r\n\r\n", 505),
    ("no method", b" / HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("a method that is none", b"G@T / HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("two spaces", b"GET  / HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("CONNECT", b"CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("lower-case version", b"GET / http/1.1\r\nHost: x\r\n\r\n", 400),
    ("dot segment", b"GET /a/../b HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("encoded dot segment", b"GET /a/%2e%2E/b HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("encoded slash", b"GET /a%2Fb HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("encoded NUL", b"GET /a%00b HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("encoded line end", b"GET /a%0d%0ab HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("backslash", b"GET /a\\..\\b HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("half an encoded byte", b"GET /a%4 HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("no hex digits", b"GET /a%zz HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("TLS", bytes.fromhex("160301020001") + bytes(300), 400),
    ("noise", bytes(range(256)) * 4, 400),
    # The body.
    ("too large", post("Content-Length: 1048577"), 413),
    ("too large in chunks", post(CHUNKED, body=b"100001\r\n"), 413),
    ("unknown coding", post("Content-Encoding: br", "Content-Length: 1", body=b"a"), 415),
    ("not gzip", post("Content-Encoding: gzip", "Content-Length: 4", body=b"abcd"), 400),
    ("cut gzip", post("Content-Encoding: gzip", "Content-Length: 15", body=gzip.compress(b"hello")[:15]), 400),
]


class Malformed(unittest.TestCase):
    def test_each_is_refused_in_json_and_the_next_request_is_answered(self):
        with serving() as server:
            for name, data, status in MALFORMED:
                with self.subTest(name), Client(server.port) as client, Client(server.port) as good:
                    found, fields, body = client.ask(data)
                    self.assertEqual(found, status, body)
                    self.assertTrue(json.loads(body)["error"])
                    self.assertEqual(fields["connection"], "close")
                    client.socket.shutdown(socket.SHUT_WR)
                    self.assertTrue(client.closed(), client.pending)
                    self.assertEqual(good.ask(GOOD)[2], b"GET /good 0 ")

    def test_gzip_bomb(self):
        bomb = gzip.compress(bytes(200 << 20))
        with serving() as server, Client(server.port) as client:
            before = resident_kib(server)
            for _ in range(5):
                with Client(server.port) as other:
                    data = post("Content-Encoding: gzip", f"Content-Length: {len(bomb)}", body=bomb)
                    self.assertEqual(other.ask(data)[0], 413)
            self.assertLess(resident_kib(server) - before, 20_000)
            self.assertEqual(client.ask(GOOD)[0], 200)

    def test_chunks_of_one_byte(self):
        with serving() as server:
            before = resident_kib(server)
            for _ in range(5):
                with Client(server.port) as client:
                    client.send(post(CHUNKED, body=200_000 * b"1\r\na\r\n" + b"0\r\n\r\n"))
                    self.assertEqual(client.response()[0], 400)
            self.assertLess(resident_kib(server) - before, 20_000)

    def test_announced_bodies_cost_nothing(self):
        with serving("--max-body", 1 << 30) as server, contextlib.ExitStack() as stack:
            before = resident_kib(server)
            for _ in range(50):
                client = stack.enter_context(Client(server.port))
                client.send(post("Content-Length: 1000000000", body=b"a"))
            with Client(server.port) as good:
                self.assertEqual(good.ask(GOOD)[0], 200)
            self.assertLess(resident_kib(server) - before, 40_000)

    def test_a_refused_body_does_not_hide_the_answer(self):
        """Ten megabytes are on their way when the server says no; closing at once would break the connection."""
        for method in ("POST", "GET"):
            with serving() as server, Client(server.port) as client:
                client.send(request([f"{method} / HTTP/1.1", "Host: x", "Content-Length: 10000000"], bytes(10_000_000)))
                self.assertEqual(client.response()[0], 413)

    def test_request_ids(self):
        with serving() as server, Client(server.port) as client:
            ask = "GET / HTTP/1.1\r\nHost: x\r\nX-Request-ID: {}\r\n\r\n"
            self.assertEqual(client.ask(ask.format("a-1.b").encode())[1]["x-request-id"], "a-1.b")
            made = set()
            for bad in ('a"b', "a b", "{}", 200 * "a", "a\tb", ""):
                made.add(client.ask(ask.format(bad).encode())[1]["x-request-id"])
            self.assertEqual(len(made), 6)
            for name in made:
                self.assertRegex(name, "^[0-9a-f]{16}$")


class Good(unittest.TestCase):
    def check(self, data, answer, times=1):
        with serving() as server, Client(server.port) as client:
            for _ in range(times):
                self.assertEqual(client.ask(data)[2], answer)

    def test_chunks(self):
        body = b"5\r\nhello\r\n1;name=value\r\n!\r\n0\r\nTrailer: x\r\n\r\n"
        self.check(post(CHUNKED, body=body), b"POST /p 6 hello!", times=3)

    def test_chunks_byte_by_byte(self):
        with serving() as server, Client(server.port) as client:
            for _ in range(2):
                for byte in post(CHUNKED, body=b"5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n"):
                    client.send(bytes([byte]))
                self.assertEqual(client.response()[2], b"POST /p 6 hello!")

    def test_bodies_of_every_size(self):
        with serving() as server, Client(server.port) as client:
            for size in (0, 1, 4000, 4096, 16_300, 16_384, 16_385, 70_000, 1 << 20):
                answer = client.ask(post(f"Content-Length: {size}", body=size * b"a"))[2]
                self.assertTrue(answer.startswith(f"POST /p {size} ".encode()), answer[:40])

    def test_gzip_and_deflate(self):
        import zlib
        for name, compressed in (("gzip", gzip.compress(b"hello")), ("deflate", zlib.compress(b"hello"))):
            data = post(f"Content-Encoding: {name}", f"Content-Length: {len(compressed)}", body=compressed)
            self.check(data, b"POST /p 5 hello")

    def test_empty_lines_in_front(self):
        self.check(b"\r\n\r\n" + GOOD, b"GET /good 0 ")

    def test_a_whole_url_as_target(self):
        self.check(b"GET http://x/a%20b HTTP/1.1\r\nHost: x\r\n\r\n", b"GET /a b 0 ")

    def test_options_of_the_server(self):
        self.check(b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", b"OPTIONS / 0 ")

    def test_unknown_methods_are_the_handlers(self):
        self.check(b"BREW /pot HTTP/1.1\r\nHost: x\r\n\r\n", b"BREW /pot 0 ")

    def test_head(self):
        with serving() as server, Client(server.port) as client:
            client.send(b"HEAD /good HTTP/1.1\r\nHost: x\r\n\r\n")
            status, fields, _ = client.response(body=False)
            self.assertEqual((status, fields["content-length"]), (200, "13"))
            self.assertEqual(client.ask(GOOD)[2], b"GET /good 0 ")

    def test_http_1_0(self):
        with serving() as server:
            with Client(server.port) as client:
                self.assertEqual(client.ask(b"GET / HTTP/1.0\r\n\r\n")[1]["connection"], "close")
                self.assertTrue(client.closed())
            with Client(server.port) as client:
                keep = b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
                self.assertEqual(client.ask(keep)[1]["connection"], "keep-alive")
                self.assertEqual(client.ask(keep)[0], 200)

    def test_expect_100_continue(self):
        head = post("Expect: 100-continue", "Content-Length: 5")
        with serving() as server:
            with Client(server.port) as client:
                self.assertEqual(client.ask(head)[0], 100)
                self.assertEqual(client.ask(b"hello")[2], b"POST /p 5 hello")
            with Client(server.port) as client:  # who does not wait is not told
                self.assertEqual(client.ask(head + b"hello")[2], b"POST /p 5 hello")
            with Client(server.port) as client:
                status, fields, _ = client.ask(post("Expect: 100-continue", "Content-Length: 99999999"))
                self.assertEqual((status, fields["connection"]), (413, "close"))

    def test_half_closed_clients_get_their_answer(self):
        with serving() as server, Client(server.port) as client:
            client.send(b"GET /later?ms=50 HTTP/1.1\r\nHost: x\r\n\r\n")
            client.socket.shutdown(socket.SHUT_WR)
            self.assertEqual(client.response()[2], b'{"later":true}')
            self.assertTrue(client.closed())

    def test_large_answers(self):
        with serving() as server, Client(server.port) as client:
            client.send(2 * b"GET /large?bytes=20000000 HTTP/1.1\r\nHost: x\r\n\r\n")
            for _ in range(2):
                self.assertEqual(len(client.response()[2]), 20_000_000)


class Slow(unittest.TestCase):
    def check_408(self, option, data):
        with serving(option, 200) as server, Client(server.port) as client:
            status, fields, body = client.ask(data)
            self.assertEqual((status, fields["connection"]), (408, "close"))
            self.assertTrue(json.loads(body)["error"])

    def test_head(self):
        self.check_408("--header-ms", b"GET / HT")

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
        with serving("--header-ms", 1000) as server, Client(server.port) as client:
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
            wait_for(lambda: not connections_of(server))

    def test_a_slow_reader_gets_all(self):
        with serving("--write-ms", 2000) as server, Client(server.port) as client:
            client.send(b"GET /large?bytes=40000000 HTTP/1.1\r\nHost: x\r\n\r\n")
            for _ in range(10):
                time.sleep(0.25)
                for _ in range(16):
                    client.fill()
            self.assertEqual(len(client.response()[2]), 40_000_000)


def connections_of(server):
    """How many sockets of connections the server holds."""
    inodes = set()
    for link in Path(f"/proc/{server.pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found = re.match(r"socket:\[(\d+)\]", str(link.readlink()))
            inodes |= {found[1]} if found else set()
    rows = [line.split() for line in Path(f"/proc/{server.pid}/net/tcp").read_text().splitlines()[1:]]
    return sum(row[9] in inodes and row[3] != "0A" for row in rows)


def wait_for(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("waited in vain")
        time.sleep(0.01)


class Crowds(unittest.TestCase):
    def test_idle_connections_hold_up_nobody(self):
        with serving() as server, contextlib.ExitStack() as stack:
            for _ in range(500):
                stack.enter_context(Client(server.port))
            with Client(server.port) as good:
                start = time.monotonic()
                self.assertEqual(good.ask(GOOD)[0], 200)
                self.assertLess(time.monotonic() - start, 5)

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
                    return client.ask(GOOD)[0] == 200
            wait_for(has_room)

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
            wait_for(has_room)

    def test_clients_that_hang_up(self):
        with serving("--threads", 2) as server:
            for _ in range(300):
                with Client(server.port) as client:
                    client.send(b"GET /later?ms=1 HTTP/1.1\r\nHost: x\r\n\r\n")
            for _ in range(300):
                with Client(server.port) as client:
                    client.send(post("Content-Length: 100", body=b"half"))
            wait_for(lambda: not connections_of(server))
            with Client(server.port) as client:
                self.assertEqual(client.ask(GOOD)[0], 200)


def cpu_seconds(server):
    fields = Path(f"/proc/{server.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


class Drain(unittest.TestCase):
    def test_idle_connections_do_not_hold_it_up(self):
        with serving() as server, Client(server.port) as used, Client(server.port) as unused:
            self.assertEqual(used.ask(GOOD)[0], 200)
            server.send_signal(signal.SIGTERM)
            self.assertTrue(used.closed())
            self.assertTrue(unused.closed())
            self.assertEqual(server.wait(PATIENCE), 0)

    def test_what_is_under_way_is_finished(self):
        with serving() as server, Client(server.port) as client:
            self.assertEqual(client.ask(GOOD)[0], 200)
            client.send(b"GET /later?ms=1000 HTTP/1.1\r\nHost: x\r\n\r\n")
            server.send_signal(signal.SIGTERM)
            status, fields, _ = client.response()
            self.assertEqual((status, fields["connection"]), (200, "close"))
            self.assertEqual(server.wait(PATIENCE), 0)

    def test_no_request_is_lost_under_load(self):
        answered, lost = [], []
        started = threading.Barrier(9)

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

    def test_a_stalled_handshake_ends(self):
        with self.serving("--header-ms", 200) as server, Client(server.port) as stalled:
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
