#!/usr/bin/env python3
"""Whatever is sent to `lockring serve`, it is answered, and the next good request gets the right answer.

serve_faults_test.py PROGRAM [ARGUMENTS OF unittest]
"""

import json
import sys
import unittest

from background import wait_until
from serving import PIXELS, ServingTest, binary_body, infer_body, png, probabilities
from small_data import SIDE


class FaultsTest(ServingTest):
    def bad_requests(self):
        good = infer_body(self.images[:1])
        with_input = lambda **fields: {"inputs": [{**good["inputs"][0], **fields}]}
        infer = "/v2/models/first/infer"
        yield infer, with_input(data=[0] * 10), {}, 400
        yield infer, with_input(data=[0] * (PIXELS + 1)), {}, 400
        yield infer, with_input(data=[[0] * PIXELS, [0]]), {}, 400
        for data in (
            {},
            None,
            "text",
            [None] * PIXELS,
            ["0"] * PIXELS,
            [True] * PIXELS,
            [256] * PIXELS,
            [0.5] * PIXELS,
        ):
            yield infer, with_input(data=data), {}, 400
        for shape in (
            [-1, SIDE, SIDE, 1],
            [1.5, SIDE, SIDE, 1],
            ["1", SIDE, SIDE, 1],
            [],
            [0, SIDE, SIDE, 1],
            [1, 0],
            None,
            [10**9, SIDE, SIDE, 1],
            [2**63, SIDE, SIDE, 1],
            [1, PIXELS],
        ):
            yield infer, with_input(shape=shape), {}, 400
        for token in (b"NaN", b"Infinity", b"1e999", b"-", b"01", b"1."):
            yield infer, json.dumps(with_input(datatype="FP32", data=["x"])).replace('"x"', "").encode().replace(
                b"[]", b"[" + token + b"]"
            ), {}, 400
        for fields in (
            {"name": "pixels"},
            {"datatype": "INT64"},
            {"datatype": 7},
            {"parameters": []},
            {"parameters": {"binary_data_size": 4}},
            {"parameters": {"shared_memory_region": "r"}},
        ):
            yield infer, with_input(**fields), {}, 400
        yield infer, {"inputs": good["inputs"] * 2}, {}, 400
        yield infer, {**good, "outputs": [{"name": "logits"}]}, {}, 400
        yield infer, {**good, "parameters": "x"}, {}, 400
        yield infer, {**good, "parameters": {"timeout": -1}}, {}, 400
        for body in (
            b"",
            b"[]",
            b"{}",
            b"{",
            b"\xef\xbb\xbf{}",
            b"\0",
            b"\xff\xfe",
            b"[" * 100000,
            b'{"inputs":' * 1000,
        ):
            yield infer, body, {}, 400
        for length in ("-1", "1e3", "+5", "99999999", "12abc", "18446744073709551616"):
            yield infer, good, {"Inference-Header-Content-Length": length}, 400
        yield infer, b"x" * 17, {"Inference-Header-Content-Length": "0"}, 400
        yield infer, binary_body(self.images[:1])[0] + b"x", binary_body(self.images[:1])[1], 400
        yield infer, png(self.images[0])[:60], {}, 400
        yield "/predict", b"no picture", {}, 400
        yield "/predict", b"", {}, 400
        yield "/predict?top=none", png(self.images[0]), {}, 400
        yield "/predict", b"--x", {"Content-Type": "multipart/form-data; boundary=x"}, 400
        yield "/predict?model=nobody", png(self.images[0]), {}, 404
        yield "/v1/models/first:predict", {"instances": [[1, 2], [3]]}, {}, 400
        yield "/v1/models/first:predict", {"instances": [[0] * 5]}, {}, 400
        yield "/v1/models/first:classify", {}, {}, 501
        yield "/v2/models/nobody/infer", good, {}, 404
        yield "/v2/models/first/versions/9/infer", good, {}, 404
        yield "/v2/models/first/generate", good, {}, 501
        yield "/v2//models", good, {}, 404
        yield "/v2/models/first", good, {}, 405
        yield "/v2/logging", {}, {}, 501
        yield "/jobs", {"model": "first"}, {}, 400
        yield "/jobs", {"model": "nobody", "request": good}, {}, 404
        yield "/v2/repository/index", b"[1]", {}, 400
        yield "/v2/repository/models/first/load", {"parameters": {"file:1/model": "x"}}, {}, 400
        for name in ("..", "%2e%2e", "..%2f..%2fetc", "a%00b", ".hidden", "x" * 200, "nobody"):
            yield f"/v2/repository/models/{name}/load", {}, {}, None

    def test_bad_requests_are_answered_and_forgotten(self):
        connection = self.server.connect()
        for path, body, headers, status in self.bad_requests():
            reply = self.server.post(path, body, headers, connection=connection)
            with self.subTest(path=path, body=str(body)[:100], headers=headers):
                self.assertIn(reply.status, (400, 404) if status is None else (status,), reply.body)
                self.assertIsInstance(reply.json["error"], str)
                self.assertEqual(list(reply.json), ["error"])
            if reply.headers.get("connection") == "close":
                connection.close()
        self.assert_answers(
            probabilities(self.server.infer("first", self.images[:1], connection=connection)), "first"
        )
        connection.close()
        self.assert_still_well()

    def test_names_outside_are_answered_alike_whether_they_exist_or_not(self):
        replies = {
            self.server.post(f"/v2/repository/models/{name}/load").body.replace(name.encode(), b"")
            for name in ("runs", "nothing")
        }
        self.assertEqual(len(replies), 1)

    def test_stated_sizes_take_no_memory(self):
        body = infer_body(self.images[:1])
        body["inputs"][0]["shape"] = [10**9, SIDE, SIDE, 1]
        self.server.post("/v2/models/first/infer", body)
        before = self.server.metric("lockring_resident_bytes")
        for _ in range(50):
            self.assertEqual(self.server.post("/v2/models/first/infer", body).status, 400)
        self.assertLess(self.server.metric("lockring_resident_bytes") - before, 32 << 20)

    def test_deadlines_are_kept(self):
        reply = self.server.post("/v2/models/first/infer", infer_body(self.images[:1], parameters={"timeout": 1}))
        self.assertEqual(reply.status, 504, reply.body)
        self.assertIn("deadline", reply.json["error"])
        self.assert_still_well()

    def test_clients_that_hang_up_leave_nothing_behind(self):
        body = json.dumps(infer_body(self.images * 40)).encode()
        head = f"POST /v2/models/second/infer HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        for _ in range(40):
            with self.server.socket() as client:
                client.sendall(head + body)
        wait_until(lambda: self.server.metric("lockring_http_requests_in_flight") <= 1)
        wait_until(lambda: self.server.metric("lockring_queued") == 0)
        self.assert_still_well()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
