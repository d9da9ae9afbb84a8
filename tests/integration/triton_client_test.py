#!/usr/bin/env python3
"""NVIDIA's own client for Python drives the server unchanged: JSON, binary, mixed, compressed, configuration,
statistics, repository.

    triton_client_test.py PROGRAM [ARGUMENTS OF unittest]

It is in an environment that scripts/setup --test makes.
"""

import sys
import tempfile
import unittest
from pathlib import Path

import test_environment

test_environment.enter()

import numpy as np
import tritonclient.http as triton
from tritonclient.utils import InferenceServerException

from serving import Server, dark_image, infer_body, prepare, probabilities
from small_data import SIDE

PROGRAM = sys.argv[1]


class TritonClientTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="lockring triton ")
        cls.root = Path(cls.temporary.name)
        bundles = prepare(PROGRAM, cls.root)
        cls.server = Server(
            PROGRAM, cls.root, *(f"{name}={bundle}" for name, bundle in zip(("first", "second"), bundles))
        )
        cls.server.__enter__()
        cls.client = triton.InferenceServerClient(f"127.0.0.1:{cls.server.port}")
        cls.bytes = np.frombuffer(b"".join(dark_image(seed) for seed in range(4)), np.uint8).reshape(4, SIDE, SIDE, 1)
        reply = cls.server.infer("first", [bytes(image.ravel()) for image in cls.bytes])
        cls.expected = np.array(probabilities(reply), np.float32)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.server.__exit__()
        cls.temporary.cleanup()

    def image(self, datatype="FP32", binary=True):
        tensor = triton.InferInput("image", list(self.bytes.shape), datatype)
        values = self.bytes if datatype == "UINT8" else self.bytes.astype(np.float32) / np.float32(255)
        tensor.set_data_from_numpy(values, binary_data=binary)
        return [tensor]

    def assert_answer(self, result):
        np.testing.assert_array_equal(result.as_numpy("probabilities"), self.expected)

    def test_health_and_metadata(self):
        self.assertTrue(self.client.is_server_live() and self.client.is_server_ready())
        self.assertTrue(self.client.is_model_ready("first") and self.client.is_model_ready("first", "1"))
        self.assertFalse(self.client.is_model_ready("nobody"))
        self.assertIn("statistics", self.client.get_server_metadata()["extensions"])
        self.assertEqual(self.client.get_model_metadata("first")["inputs"][0]["shape"], [-1, SIDE, SIDE, 1])
        self.assertEqual(self.client.get_model_config("first")["input"][0]["dims"], [SIDE, SIDE, 1])
        steps = self.client.get_model_config("ensemble")["ensemble_scheduling"]["step"]
        self.assertEqual([step["model_name"] for step in steps], ["first", "second"])

    def test_all_ways_to_send_and_receive_give_the_same_bits(self):
        for datatype in ("FP32", "UINT8"):
            for binary_in in (True, False):
                for binary_out in (True, False):
                    output = [triton.InferRequestedOutput("probabilities", binary_data=binary_out)]
                    self.assert_answer(self.client.infer("first", self.image(datatype, binary_in), outputs=output))
        self.assert_answer(self.client.infer("first", self.image()))
        self.assert_answer(self.client.infer("first", self.image(), model_version="1"))

    def test_compressed(self):
        for coding in ("gzip", "deflate"):
            self.assert_answer(
                self.client.infer(
                    "first", self.image(), request_compression_algorithm=coding, response_compression_algorithm=coding
                )
            )

    def test_identifiers_parameters_and_classes(self):
        result = self.client.infer("first", self.image(), request_id="mine", timeout=10_000_000)
        self.assertEqual(result.get_response()["id"], "mine")
        output = [triton.InferRequestedOutput("probabilities", class_count=2)]
        classes = self.client.infer("first", self.image(), outputs=output).as_numpy("probabilities")
        self.assertEqual(classes.shape, (4, 2))
        for row, expected in zip(classes, self.expected):
            value, index, label = row[0].decode().split(":")
            self.assertEqual((np.float32(value), int(index)), (expected.max(), expected.argmax()))
            self.assertTrue(label)

    def test_many_at_once(self):
        with triton.InferenceServerClient(f"127.0.0.1:{self.server.port}", concurrency=8) as client:
            for request in [client.async_infer("first", self.image()) for _ in range(40)]:
                self.assert_answer(request.get_result())

    def test_the_ensemble_tells_of_its_members(self):
        result = self.client.infer("ensemble", self.image())
        np.testing.assert_array_equal(result.as_numpy("first.probabilities"), self.expected)
        np.testing.assert_allclose(
            result.as_numpy("probabilities"), (self.expected + result.as_numpy("second.probabilities")) / 2, atol=1e-6
        )
        self.assertEqual(result.as_numpy("agreement").shape, (4,))

    def test_errors_are_the_servers_words(self):
        def refused(part, *arguments, **more):
            with self.assertRaises(InferenceServerException) as caught:
                self.client.infer(*arguments, **more)
            self.assertIn(part, caught.exception.message())

        refused("there is no model 'nobody'", "nobody", self.image())
        refused("deadline", "first", self.image(), timeout=1)
        refused("no output 'logits'", "first", self.image(), outputs=[triton.InferRequestedOutput("logits")])
        wrong = triton.InferInput("image", [1, 3], "FP32")
        wrong.set_data_from_numpy(np.zeros((1, 3), np.float32))
        refused("has the shape [1, 3]", "first", [wrong])
        self.assert_answer(self.client.infer("first", self.image()))

    def test_statistics_and_repository(self):
        before = self.client.get_inference_statistics("second")["model_stats"][0]["inference_count"]
        self.client.infer("second", self.image())
        self.assertEqual(
            self.client.get_inference_statistics("second")["model_stats"][0]["inference_count"] - before, 4
        )
        self.assertEqual(len(self.client.get_inference_statistics()["model_stats"]), 3)
        self.assertEqual(
            {row["name"] for row in self.client.get_model_repository_index()}, {"first", "second", "ensemble"}
        )
        self.client.unload_model("second")
        self.assertFalse(self.client.is_model_ready("second"))
        self.client.load_model("second")
        self.assertEqual(self.client.get_model_metadata("second")["versions"], ["2"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
