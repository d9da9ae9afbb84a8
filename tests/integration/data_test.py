#!/usr/bin/env python3
"""Data sets as they are published, taken in, trained on and read back with other software.

    data_test.py PROGRAM [ARGUMENTS OF unittest]
"""
import hashlib
import json
import os
import random
import resource
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zlib
from pathlib import Path

PROGRAM = sys.argv[1]
CLASSES = ["ant", "bee", "cat", "dog"]


def image(label, classes, height, width, channels=3):
    """Noise with a bright bar whose place tells the class, interleaved."""
    begin, end = label * height // classes, (label + 1) * height // classes
    return bytes(random.randrange(150, 256) if begin <= y < end else random.randrange(100)
                 for y in range(height) for _ in range(width * channels))


def png(height, width, pixels):
    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
    row = len(pixels) // height
    rows = b"".join(b"\0" + pixels[y * row:(y + 1) * row] for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 0 if row == width else 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def write_images(folder, count, sizes):
    for label, name in enumerate(CLASSES):
        (folder / name).mkdir(parents=True)
        for i in range(count):
            height, width = random.choice(sizes)
            (folder / name / f"{i:03}.png").write_bytes(png(height, width, image(label, len(CLASSES), height, width)))


def write_cifar(folder, count):
    folder.mkdir()
    for name in [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]:
        records = []
        for _ in range(count):
            label = random.randrange(10)
            pixels = image(label, 10, 32, 32)
            records.append(bytes([label]) + pixels[0::3] + pixels[1::3] + pixels[2::3])
        (folder / name).write_bytes(b"".join(records))
    (folder / "batches.meta.txt").write_text("\n".join(f"kind {i}" for i in range(10)) + "\n\n")


def read_idx(path):
    content = path.read_bytes()
    rank = content[3]
    return struct.unpack(f">{rank}I", content[4:4 + 4 * rank]), content[4 + 4 * rank:]


class DataTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="lockring data ")
        self.addCleanup(temporary.cleanup)
        self.root = Path(temporary.name)
        random.seed(1)

    def run_program(self, *arguments, **how):
        return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, **how)

    def data(self, command, name, *more, **how):
        return self.run_program("data", command, "--dataset", name, "--data-dir", self.root / "data", *more, **how)

    def ingest(self, name, source, *more):
        done = self.data("ingest", name, "--source", source, "--json", *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def refused(self, name, source, part):
        done = self.data("ingest", name, "--source", source)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertIn(part, done.stderr)
        self.assertEqual([path.name for path in (self.root / "data" / name).iterdir()], [".lock"])

    def train(self, name, *more):
        run = self.root / f"run of {name}"
        done = self.run_program("train", "--dataset", name, "--data-dir", self.root / "data", "--run-dir", run,
                                "--cache-dir", self.root / "cache", "--model", "cnn", "--epochs", "1", "--batch-size",
                                "8", "--quiet", *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return run, json.loads((run / "summary.json").read_text())

    def test_a_folder_of_images_of_one_size(self):
        write_images(self.root / "raw" / "train", 20, [(24, 20)])
        write_images(self.root / "raw" / "test", 5, [(24, 20)])
        report = self.ingest("bars", self.root / "raw")
        sizes, pixels = read_idx(Path(report["directory"]) / "train-images-idx4-ubyte")
        self.assertEqual(sizes, (80, 24, 20, 3))
        for channel, mean in enumerate(report["mean"]):
            plane = pixels[channel::3]
            self.assertAlmostEqual(mean, sum(plane) / len(plane) / 255, places=5)
        run, summary = self.train("bars")
        self.assertEqual(summary["data_digest"], report["digest"])
        self.assertGreater(summary["test_accuracy"], 0.5)
        image_file = self.root / "raw" / "test" / "dog" / "000.png"
        predicted = self.run_program("predict", run / "best.safetensors", image_file, "--json")
        self.assertEqual(json.loads(predicted.stdout)["predictions"][0]["class"], "dog")

    def test_cifar(self):
        write_cifar(self.root / "raw", 60)
        report = self.ingest("things", self.root / "raw")
        self.assertEqual((report["train"]["images"], report["test"]["images"]), (300, 60))
        self.assertEqual(report["classes"][9], "kind 9")
        # The red, the green and the blue of one place, side by side.
        record = (self.root / "raw" / "data_batch_1.bin").read_bytes()[:3073]
        _, pixels = read_idx(Path(report["directory"]) / "train-images-idx4-ubyte")
        self.assertEqual(pixels[3 * 500:3 * 501], bytes(record[1 + 1024 * plane + 500] for plane in range(3)))
        self.assertGreater(self.train("things")[1]["test_accuracy"], 0.3)

    def test_images_of_many_sizes(self):
        write_images(self.root / "raw", 12, [(24, 20), (40, 30), (18, 50)])
        report = self.ingest("sizes", self.root / "raw", "--test-fraction", "0.25")
        self.assertEqual(report["train"]["per_class"], [9] * 4)
        self.assertEqual(report["image"]["most_width"], 50)
        originals = {hashlib.sha256(path.read_bytes()).digest() for path in (self.root / "raw").rglob("*.png")}
        stored = set()
        for name in ("train-images.tar", "t10k-images.tar"):
            with tarfile.open(Path(report["directory"]) / name) as archive:
                for entry in archive:
                    self.assertIn(entry.name.split("/")[0], CLASSES)
                    stored.add(hashlib.sha256(archive.extractfile(entry).read()).digest())
        self.assertEqual(stored, originals)
        self.assertEqual(self.data("verify", "sizes").returncode, 0)
        refused = self.run_program("train", "--dataset", "sizes", "--data-dir", self.root / "data", "--run-dir",
                                   self.root / "run")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("resize", refused.stderr)
        self.assertFalse((self.root / "run").exists())
        self.assertGreater(self.train("sizes", "--augment", "resize:24x24")[1]["test_accuracy"], 0.5)

    def test_the_contact_sheet_is_a_picture(self):
        write_images(self.root / "raw", 5, [(10, 10)])
        self.ingest("bars", self.root / "raw")
        sheet = self.root / "sheet.png"
        self.assertEqual(self.data("info", "bars", "--contact-sheet", sheet).returncode, 0)
        content = sheet.read_bytes()
        self.assertEqual(content[:8], b"\x89PNG\r\n\x1a\n")
        width, height, depth, colour = struct.unpack(">IIBB", content[16:26])
        self.assertEqual((height, depth, colour), (3 + 4 * 67, 8, 2))
        self.assertGreater(width, 12 * 64)

    def test_wrong_sources_are_named_and_leave_nothing(self):
        write_images(self.root / "raw" / "train", 3, [(8, 8)])
        raw = self.root / "raw"
        self.refused("bad", self.root / "absent", "no such folder")
        (self.root / "empty").mkdir()
        self.refused("bad", self.root / "empty", "an empty folder")
        self.refused("bad", raw / "train" / "ant" / "000.png", "expected a folder")
        (raw / "train" / "ant" / "001.png").write_text("<html>404</html>")
        self.refused("bad", raw, "001.png: expected a PNG or JPEG image, found an HTML page")
        write_cifar(self.root / "cifar", 2)
        batch = self.root / "cifar" / "data_batch_2.bin"
        batch.write_bytes(batch.read_bytes()[:-1])
        self.refused("bad", self.root / "cifar", "data_batch_2.bin: expected records of 3073 bytes")

    @unittest.skipIf(os.geteuid() == 0, "root may read anything")
    def test_files_that_may_not_be_read(self):
        write_images(self.root / "raw", 3, [(8, 8)])
        (self.root / "raw" / "bee" / "001.png").chmod(0)
        self.refused("secret", self.root / "raw", "001.png: Permission denied")
        (self.root / "raw" / "bee").chmod(0)
        self.refused("secret", self.root / "raw", "Permission denied")
        (self.root / "raw" / "bee").chmod(0o700)

    def test_a_full_disk(self):
        write_images(self.root / "raw", 30, [(16, 16)])
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 14, 1 << 14))
        full = self.data("ingest", "bars", "--source", self.root / "raw", preexec_fn=limit)
        self.assertEqual(full.returncode, 3, full.stderr)
        self.assertIn("cannot write", full.stderr)
        self.assertEqual([path.name for path in (self.root / "data" / "bars").iterdir()], [".lock"])
        self.ingest("bars", self.root / "raw")

    def peak_of_ingesting(self, count):
        """Bytes of memory, taking in `count` images of 4 MiB."""
        raw = self.root / f"raw {count}"
        raw.mkdir()
        for name in ("train", "t10k"):
            with open(raw / f"{name}-images-idx3-ubyte", "wb") as images:
                images.write(struct.pack(">IIII", 0x803, count, 2048, 2048))
                for i in range(count):
                    images.write(bytes([i]) * (2048 * 2048))
            labels = bytes(i % 2 for i in range(count))
            (raw / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, count) + labels)
        process = subprocess.Popen([PROGRAM, "data", "ingest", "--quiet", "--dataset", "large", "--source", raw,
                                    "--data-dir", self.root / "data"], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        return usage.ru_maxrss << 10

    def test_memory_does_not_grow_with_the_data(self):
        self.assertLess(self.peak_of_ingesting(16), self.peak_of_ingesting(2) + (32 << 20))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
