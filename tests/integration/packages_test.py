#!/usr/bin/env python3
"""What the program writes is read back by those who define the formats: TensorBoard, safetensors, NumPy.

    packages_test.py PROGRAM [ARGUMENTS OF unittest]

They are in an environment that scripts/setup --test makes.
"""
import io
import json
import random
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import test_environment
from background import Background, Paced, wait_until
from small_data import SIDE, ingest

test_environment.enter()

import numpy as np
import safetensors.numpy
from PIL import Image
from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.context import RequestContext
from tensorboard.plugins import base_plugin
from tensorboard.plugins.hparams import api_pb2, backend_context, list_session_groups, metadata
from tensorboard.util import tensor_util

PROGRAM = sys.argv[1]
EPOCHS = 3
EVERYTHING = {"scalars": 0, "histograms": 0, "images": 0, "tensors": 0}  # no sampling


def metrics_of(run):
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def events_of(folder):
    return EventAccumulator(str(folder), size_guidance=EVERYTHING).Reload()


def points(events, tag):
    return [(event.step, event.value) for event in events.Scalars(tag)]


class PackagesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="lockring packages ")
        cls.root = Path(cls.temporary.name)
        random.seed(1)
        ingest(PROGRAM, cls.root, "small", 600, 100)
        cls.first = cls.root / "first"
        cls.train(cls.first, "--model", "cnn_bn", "--augment", "flip")
        cls.events = events_of(cls.first)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    @classmethod
    def command(cls, run, *more, epochs=EPOCHS):
        return [PROGRAM, "train", "--dataset", "small", "--data-dir", cls.root / "data", "--run-dir", run, "--epochs",
                str(epochs), "--batch-size", "64", "--replicas", "2", *more]

    @classmethod
    def train(cls, run, *more, code=0, **how):
        done = subprocess.run(cls.command(run, "--quiet", *more, **how), capture_output=True, text=True)
        assert done.returncode == code, done.stderr

    def kill(self, process):
        process.kill()
        process.communicate()
        self.assertEqual(process.returncode, -signal.SIGKILL, "it ended before")

    def assert_points(self, tag, expected, events=None):
        """Curves are of float32."""
        found = points(events or self.events, tag)
        self.assertEqual(found, [(step, float(np.float32(value))) for step, value in expected], tag)

    def test_scalars_of_epochs(self):
        metrics = metrics_of(self.first)
        self.assertEqual(len(metrics), EPOCHS)
        for tag, key in {"loss/train": "train_loss", "acc/train": "train_accuracy", "loss/val": "val_loss",
                         "acc/val": "val_accuracy", "lr": "learning_rate", "epoch": "epoch",
                         "perf/images_per_s": "images_per_second", "perf/data_wait": "data_wait_fraction"}.items():
            self.assert_points(tag, [(line["step"], line[key]) for line in metrics])
        summary = json.loads((self.first / "summary.json").read_text())
        self.assert_points("acc/test", [(summary["steps"], summary["test_accuracy"])])
        self.assert_points("loss/test", [(summary["steps"], summary["test_loss"])])

    def test_scalars_of_steps(self):
        for tag in ("loss", "acc", "lr", "gradient_norm", "images_per_s", "data_wait"):
            found = points(self.events, f"step/{tag}")
            self.assertEqual(found[0][0], 1, "the first step is told at once")
            self.assertTrue(all(np.isfinite(value) for _, value in found))
        walls = [event.wall_time for event in self.events.Scalars("step/loss")]
        self.assertTrue(all(later - earlier > 0.9 for earlier, later in zip(walls, walls[1:])), walls)

    def test_histograms_are_those_of_the_tensors(self):
        tensors = safetensors.numpy.load_file(self.first / "last.safetensors")
        names = [name for name in tensors if not name.startswith(("golden.", "state."))]
        steps = [line["step"] for line in metrics_of(self.first)]
        for name in names:
            values = tensors[name].astype(np.float64).ravel()
            found = self.events.Histograms(f"weights/{name}")
            self.assertEqual([event.step for event in found], steps)
            histogram = found[-1].histogram_value
            self.assertEqual(histogram.num, values.size)
            self.assertEqual((histogram.min, histogram.max), (values.min(), values.max()))
            np.testing.assert_allclose(histogram.sum, values.sum(), rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(histogram.sum_squares, (values**2).sum(), rtol=1e-9)
            edges = [histogram.min, *histogram.bucket_limit]
            counts = np.histogram(values, edges)[0] if len(edges) > 2 else [values.size]
            self.assertLessEqual(np.abs(counts - np.array(histogram.bucket)).sum(), 2, "but for rounding at an edge")
        gradients = [tag for tag in self.events.Tags()["histograms"] if tag.startswith("gradients/")]
        moved = [name for name in names if not name.endswith((".mean", ".variance"))]
        self.assertEqual(sorted(gradients), sorted(f"gradients/{name}" for name in moved))
        norms = sum(self.events.Histograms(tag)[0].histogram_value.sum_squares for tag in gradients) ** 0.5
        self.assertGreater(norms, 0)

    def test_images_show_mistakes(self):
        panels = self.events.Images("mistakes")
        self.assertEqual([panel.step for panel in panels], [line["step"] for line in metrics_of(self.first)])
        for panel in panels:
            image = Image.open(io.BytesIO(panel.encoded_image_string))
            self.assertEqual((image.width, image.height), (panel.width, panel.height))
            self.assertEqual((image.format, image.mode), ("PNG", "RGB"))
            colours = {colour for _, colour in image.getcolors(1 << 24)}
            self.assertLess({(230, 230, 230), (255, 150, 50)}, colours, "both captions")
        # The first mistake as the data set has it, each pixel made larger.
        shown = np.asarray(Image.open(io.BytesIO(panels[-1].encoded_image_string)))[20:104, 2:86, 0]
        images = self.stored("train-images-idx3-ubyte", 16, (600, SIDE, SIDE))
        at = np.arange(84) * SIDE // 84
        tiles = [image[at][:, at] for image in images]
        self.assertTrue(any((shown == tile).all() for tile in tiles))

    def test_text_is_the_configuration(self):
        (event,) = self.events.Tensors("config")
        (text,) = tensor_util.make_ndarray(event.tensor_proto)
        lines = text.decode().splitlines()
        for line in (self.first / "config.toml").read_text().splitlines():
            self.assertIn("    " + line, lines)
        self.assertTrue(any("lockring train --model cnn_bn" in line for line in lines))

    def hparams_tab(self, folder):
        """What TensorBoard's table of runs shows of a folder: names of settings, and by run its settings and metrics."""
        multiplexer = plugin_event_multiplexer.EventMultiplexer(tensor_size_guidance={"hparams": 100})
        multiplexer.AddRunsFromDirectory(str(folder))
        multiplexer.Reload()
        provider = data_provider.MultiplexerDataProvider(multiplexer, str(folder))
        context = backend_context.Context(base_plugin.TBContext(data_provider=provider))
        experiment = context.experiment_from_metadata(
            RequestContext(), "", True, context.hparams_metadata(RequestContext(), ""),
            context.hparams_from_data_provider(RequestContext(), "", None))
        request = api_pb2.ListSessionGroupsRequest(
            start_index=0, slice_size=100, allowed_statuses=list(api_pb2.Status.values()),
            col_params=[api_pb2.ColParams(metric=info.name) for info in experiment.metric_infos])
        groups = list_session_groups.Handler(RequestContext(), context, "", request).run().session_groups
        sessions = {session.name: (dict(group.hparams), session) for group in groups for session in group.sessions}
        return {info.name for info in experiment.hparam_infos}, sessions

    def test_hparams_of_several_runs_are_one_table(self):
        folder = self.root / "compared"
        self.train(folder / "a", "--model", "mlp", "--lr", "0.002")
        self.train(folder / "b", "--model", "lenet", "--schedule", "onecycle", "--optimizer", "sgd", "--nesterov")
        self.train(folder / "diverged", "--model", "mlp", "--lr", "1e20", code=5)
        names, sessions = self.hparams_tab(folder)
        self.assertEqual(set(sessions), {"a", "b", "diverged"}, "no run appears twice")
        for hparams, _ in sessions.values():
            self.assertEqual(set(hparams), names, "of each run every setting is shown")
        a, b, diverged = (sessions[name] for name in ("a", "b", "diverged"))
        self.assertEqual(a[0]["lr"].number_value, 0.002)
        self.assertEqual(a[0]["model"].string_value, "mlp")
        self.assertEqual((a[0]["nesterov"].bool_value, b[0]["nesterov"].bool_value), (False, True))
        self.assertEqual((a[0]["epochs"].number_value, a[0]["replicas"].number_value), (EPOCHS, 2))
        self.assertEqual((a[1].status, diverged[1].status), (api_pb2.STATUS_SUCCESS, api_pb2.STATUS_FAILURE))
        self.assertLess(a[1].start_time_secs, a[1].end_time_secs)
        shown = {value.name.tag: value.value for value in a[1].metric_values}
        self.assertEqual(shown["acc/val"], float(np.float32(metrics_of(folder / "a")[-1]["val_accuracy"])))
        self.assertLess({"acc/val", "loss/val", "acc/test", "loss/test"}, set(shown))

    def test_one_file_a_process(self):
        self.assertEqual(len(list(self.first.glob("events.*"))), 1)

    def test_a_run_that_is_killed_leaves_a_readable_file(self):
        run = self.root / "killed"
        process = Background(self, self.command(run, epochs=100000))
        wait_until(lambda: any(b"step/loss" in file.read_bytes() for file in run.glob("events.*")), process)
        self.kill(process)
        events = events_of(run)
        self.assertEqual(points(events, "step/loss")[0][0], 1)
        self.assertIn("config", events.Tags()["tensors"])
        self.assertTrue(events.SummaryMetadata(metadata.SESSION_START_INFO_TAG).plugin_data.content)

    def test_events_of_a_resumed_run_go_on_where_it_does(self):
        whole, resumed = self.root / "whole", self.root / "resumed"
        self.train(whole, "--model", "mlp", epochs=40)
        process = Paced(self, self.command(resumed, "--model", "mlp", epochs=40))
        process.wait_for_line("epoch 5/")
        self.kill(process)
        self.train(resumed, "--model", "mlp", "--resume", epochs=40)
        first, second = events_of(whole), events_of(resumed)
        self.assertEqual(len(list(resumed.glob("events.*"))), 2)
        for tag in ("loss/train", "acc/val", "loss/val", "epoch", "acc/test"):
            self.assertEqual(points(second, tag), points(first, tag), tag)
        steps = [step for step, _ in points(second, "step/loss")]
        self.assertEqual(steps, sorted(set(steps)))
        self.assertEqual([event.step for event in second.Histograms("weights/dense1.bias")],
                         [event.step for event in first.Histograms("weights/dense1.bias")])

    def test_safetensors_are_read_as_they_are_meant(self):
        """NumPy computes the answer that the bundle says its model gives."""
        run = self.root / "mlp"
        self.train(run, "--model", "mlp", "--ema", "0.9")
        for name in ("best.safetensors", "last.safetensors"):
            with safetensors.safe_open(run / name, "np") as file:
                about = file.metadata()
                tensors = {key: file.get_tensor(key) for key in file.keys()}
            self.assertEqual(about["architecture"], "mlp")
            self.assertEqual(tensors["golden.image"].dtype, np.uint8)
            mean, deviation = json.loads(about["mean"])[0], json.loads(about["deviation"])[0]
            x = (tensors["golden.image"].astype(np.float64).ravel() / 255 - mean) / deviation
            hidden = np.maximum(tensors["dense1.weight"].astype(np.float64) @ x + tensors["dense1.bias"], 0)
            logits = tensors["dense2.weight"].astype(np.float64) @ hidden + tensors["dense2.bias"]
            np.testing.assert_allclose(logits, tensors["golden.logits"], rtol=1e-4, atol=1e-4)
        self.assertIn("state.ema.dense1.weight", tensors)
        evaluated = subprocess.run([PROGRAM, "eval", run / "best.safetensors", "--data-dir", self.root / "data", "--dataset",
                                    "small", "--json"], check=True, stdout=subprocess.PIPE)
        self.assertEqual(json.loads(evaluated.stdout)["accuracy"], self.accuracy_in_numpy(run / "best.safetensors"))

    def accuracy_in_numpy(self, bundle):
        with safetensors.safe_open(bundle, "np") as file:
            mean, deviation = (json.loads(file.metadata()[key])[0] for key in ("mean", "deviation"))
            weights = [file.get_tensor(f"dense{i}.{part}") for i in (1, 2) for part in ("weight", "bias")]
        images = self.stored("t10k-images-idx3-ubyte", 16, (100, SIDE * SIDE))
        labels = self.stored("t10k-labels-idx1-ubyte", 8, (100,))
        x = (images.astype(np.float32) / 255 - mean) / deviation
        logits = np.maximum(x @ weights[0].T + weights[1], 0) @ weights[2].T + weights[3]
        return float((logits.argmax(axis=1) == labels).mean())

    def stored(self, name, header, shape):
        """A file of the stored data set, as NumPy maps it."""
        (path,) = (self.root / "data" / "small").glob(f"*/{name}")
        return np.memmap(path, np.uint8, "r", offset=header, shape=shape)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
