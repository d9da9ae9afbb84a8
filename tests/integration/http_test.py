#!/usr/bin/env python3
"""What clients do wrong, and what hostile ones do on purpose, byte by byte against the HTTP server.

    http_test.py SAMPLE_SERVER [ARGUMENTS OF unittest]

After each a good request still gets the right answer, from the same process.
"""
import contextlib
import gzip
import json
import socket
import sys
import unittest
import zlib

from http_support import CHUNKED, GOOD, Client, post, request, resident_kib, serving

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
            self.assertEqual(client.ask(GOOD)[0], 200)
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


if __name__ == "__main__":
    unittest.main(argv=sys.argv[1:])
