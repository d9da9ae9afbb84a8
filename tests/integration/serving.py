"""Trained models and servers for tests of serving."""

import http.client
import json
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib
from pathlib import Path

from background import PATIENCE, wait_until
from small_data import SIDE, ingest

PIXELS = SIDE * SIDE


def png(pixels, side=SIDE):
    """A grey PNG of bytes, row by row."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + pixels[y * side : (y + 1) * side] for y in range(side))
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def dark_image(seed):
    """Bytes with a dark border, so that the picture is never inverted."""
    draw = random.Random(seed)
    inside = lambda i: 0 < i < SIDE - 1
    return bytes(
        draw.randrange(256) if inside(y) and inside(x) else draw.randrange(60)
        for y in range(SIDE)
        for x in range(SIDE)
    )


def train(program, root, name, model, *more):
    subprocess.run(
        [
            program,
            "train",
            "--dataset",
            "small",
            "--data-dir",
            root / "data",
            "--model",
            model,
            "--epochs",
            "2",
            "--batch-size",
            "64",
            "--replicas",
            "1",
            "--quiet",
            "--run-dir",
            root / "runs" / name,
            *more,
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return root / "runs" / name / "best.safetensors"


def prepare(program, root):
    """A data set and two runs."""
    random.seed(1)
    ingest(program, root, "small", 600, 100)
    return train(program, root, "first", "mlp", "--augment", "tta:flip"), train(program, root, "second", "lenet")


class Reply:
    def __init__(self, response):
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = response.read()

    @property
    def json(self):
        return json.loads(self.body, parse_constant=lambda text: (_ for _ in ()).throw(ValueError(text)))


class Server:
    """`lockring serve` while a `with` block runs; it must end well on SIGTERM."""

    def __init__(self, program, root, *arguments):
        self.port_file = root / f"port {random.randrange(1 << 30)}"
        self.command = [
            program,
            "serve",
            *map(str, arguments),
            "--port",
            "0",
            "--port-file",
            self.port_file,
            "--max-queue-ms",
            str(1000 * PATIENCE),
            "--data-dir",
            root / "data",
            "--dataset",
            "small",
        ]

    def __enter__(self):
        self.output = tempfile.TemporaryFile()  # a pipe that nobody reads would stop it once it is full
        self.process = subprocess.Popen(self.command, stdout=self.output, stderr=subprocess.STDOUT)
        try:
            wait_until(lambda: self.process.poll() is not None or self.port_file.exists())
            assert self.process.poll() is None, self.printed()
        except BaseException:
            self.process.kill()
            raise
        self.port = int(self.port_file.read_text())
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(PATIENCE)
        finally:
            self.process.kill()
        with self.output:
            assert self.process.returncode == 0, (self.process.returncode, self.printed())

    def printed(self):
        self.output.seek(0)
        return self.output.read().decode()

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def socket(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def ask(self, method, path, body=None, headers={}, connection=None):
        own = connection or self.connect()
        try:
            own.request(method, path, body, headers)
            return Reply(own.getresponse())
        finally:
            if connection is None:
                own.close()

    def get(self, path, **how):
        return self.ask("GET", path, **how)

    def post(self, path, body=b"", headers={}, **how):
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        return self.ask("POST", path, body, headers, **how)

    def infer(self, model, images, **how):
        return self.post(f"/v2/models/{model}/infer", infer_body(images), **how)

    def metric(self, name, labels=""):
        """The sum of the rows of a metric that have the labels."""
        rows = [
            line
            for line in self.get("/metrics").body.decode().splitlines()
            if line.split("{")[0].split(" ")[0] == name
        ]
        return sum(float(row.rsplit(" ", 1)[1]) for row in rows if labels in row)


def infer_body(images, datatype="UINT8", **more):
    """A request for images of bytes."""
    data = [value if datatype == "UINT8" else value / 255 for image in images for value in image]
    return {
        "inputs": [{"name": "image", "datatype": datatype, "shape": [len(images), SIDE, SIDE, 1], "data": data}],
        **more,
    }


def binary_body(images, datatype="UINT8", **more):
    """The same with the images behind the JSON, and its headers."""
    values = [value if datatype == "UINT8" else value / 255 for image in images for value in image]
    tail = bytes(values) if datatype == "UINT8" else struct.pack(f"<{len(values)}f", *values)
    head = json.dumps(
        {
            "inputs": [
                {
                    "name": "image",
                    "datatype": datatype,
                    "shape": [len(images), SIDE, SIDE, 1],
                    "parameters": {"binary_data_size": len(tail)},
                }
            ],
            **more,
        }
    ).encode()
    return head + tail, {"Inference-Header-Content-Length": str(len(head))}


def probabilities(reply, name="probabilities"):
    """Of a JSON answer, as lists by image."""
    (output,) = [output for output in reply.json["outputs"] if output["name"] == name]
    classes = output["shape"][1]
    return [output["data"][at : at + classes] for at in range(0, len(output["data"]), classes)]


def float32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


class ServingTest(unittest.TestCase):
    """A server of two models, selected from two runs, and what `lockring predict` says of a few images."""

    program = sys.argv[1]

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="lockring serve ")
        cls.root = Path(cls.temporary.name)
        cls.bundles = prepare(cls.program, cls.root)
        cls.images = [dark_image(seed) for seed in range(6)]
        cls.selected = subprocess.run(
            [
                cls.program,
                "select",
                cls.root / "runs",
                "--top",
                "2",
                "--data-dir",
                cls.root / "data",
                "--output",
                cls.root / "selection.json",
                "--json",
            ],
            capture_output=True,
            text=True,
        )
        assert cls.selected.returncode == 0, cls.selected.stderr
        cls.expected = {name: cls.predicted(bundle) for name, bundle in zip(("first", "second"), cls.bundles)}
        cls.server = Server(cls.program, cls.root, cls.root / "selection.json", "--replicas", "2")
        cls.server.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()
        cls.temporary.cleanup()

    @classmethod
    def predicted(cls, bundle):
        """What `lockring predict` says of each image, by class."""
        files = []
        for number, image in enumerate(cls.images):
            files.append(cls.root / f"{number}.png")
            files[-1].write_bytes(png(image))
        done = subprocess.run(
            [cls.program, "predict", bundle, *files, "--top", "10", "--json"], check=True, capture_output=True
        )
        rows = []
        for prediction in json.loads(done.stdout)["predictions"]:
            assert not prediction["inverted"]
            row = [0] * 10
            for guess in prediction["top"]:
                row[guess["label"]] = float32(guess["probability"])
            rows.append(row)
        return rows

    def assert_answers(self, found, model, images=range(1)):
        """The same float32, to the bit."""
        self.assertEqual(
            [[float32(value) for value in row] for row in found], [self.expected[model][i] for i in images]
        )

    def assert_still_well(self, server=None):
        server = server or self.server
        self.assertEqual(server.get("/v2/health/live").status, 200)
        self.assert_answers(probabilities(server.infer("first", self.images[:1])), "first")
