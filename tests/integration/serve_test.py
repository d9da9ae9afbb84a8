#!/usr/bin/env python3
"""`lockring select` and `lockring serve` as their users meet them: every way to ask gives the answer of `lockring
predict`.

    serve_test.py PROGRAM [ARGUMENTS OF unittest]
"""

import gzip
import json
import shutil
import struct
import subprocess
import sys
import threading
import unittest

from serving import PIXELS, ServingTest, binary_body, infer_body, png, probabilities
from small_data import SIDE


class ServeTest(ServingTest):
    def test_selection_names_bundles_by_digest(self):
        selection = json.loads((self.root / "selection.json").read_text())
        ranked = sorted(
            ("first", "second"),
            key=lambda name: -json.loads((self.root / "runs" / name / "summary.json").read_text())["val_accuracy"],
        )
        self.assertEqual([model["name"] for model in selection["models"]], ranked)
        for model in selection["models"]:
            digest = subprocess.run(
                ["sha256sum", self.root / model["bundle"]], check=True, capture_output=True, text=True
            )
            self.assertEqual(model["sha256"], digest.stdout.split()[0])
            self.assertTrue(model["reproduced"])
        self.assertEqual(selection["metric"], "val_accuracy")

    def test_a_figure_that_is_not_reproduced_is_refused(self):
        shutil.copytree(self.root / "runs" / "first", self.root / "embellished")
        for name in ("metrics.jsonl", "summary.json"):
            path = self.root / "embellished" / name
            lines = [
                json.loads(line)
                for line in ([path.read_text()] if name == "summary.json" else path.read_text().splitlines())
            ]
            path.write_text("".join(json.dumps({**line, "val_accuracy": 0.99}) + "\n" for line in lines))
        done = subprocess.run(
            [
                self.program,
                "select",
                self.root / "embellished",
                "--data-dir",
                self.root / "data",
                "--output",
                self.root / "none.json",
            ],
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("right (val_accuracy 0.9900)", done.stderr)
        self.assertFalse((self.root / "none.json").exists())

    def test_every_way_to_ask_gives_the_answer_of_predict(self):
        ask = self.server
        for model in ("first", "second"):
            path = f"/v2/models/{model}/infer"
            for datatype in ("UINT8", "FP32"):
                self.assert_answers(probabilities(ask.post(path, infer_body(self.images, datatype))), model, range(6))
                body, headers = binary_body(self.images, datatype)
                self.assert_answers(probabilities(ask.post(path, body, headers)), model, range(6))
            nested = [
                [[[value] for value in image[y * SIDE : (y + 1) * SIDE]] for y in range(SIDE)]
                for image in self.images
            ]
            request = infer_body(self.images)
            request["inputs"][0]["data"] = nested
            self.assert_answers(probabilities(ask.post(path, request)), model, range(6))
            self.assert_answers(probabilities(ask.post(path, png(self.images[0]))), model)
            body, headers = binary_body(self.images[:1], parameters={"binary_data_output": True})
            self.assert_answers([self.binary(ask.post(path, body, headers))], model)
            raw = ask.post(path, self.images[0], {"Inference-Header-Content-Length": "0"})
            self.assert_answers([self.binary(raw)], model)
            packed = ask.post(
                path, gzip.compress(json.dumps(infer_body(self.images)).encode()), {"Content-Encoding": "gzip"}
            )
            self.assert_answers(probabilities(packed), model, range(6))
            for form in (nested, [list(image) for image in self.images]):
                scaled = json.loads(json.dumps(form), parse_int=lambda text: int(text) / 255)
                reply = ask.post(f"/v1/models/{model}:predict", {"instances": scaled})
                self.assert_answers(reply.json["predictions"], model, range(6))
                self.assertEqual(
                    ask.post(f"/v1/models/{model}:predict", {"inputs": scaled}).json["outputs"],
                    reply.json["predictions"],
                )
            self.assert_answers([self.by_index(ask.post(f"/predict?model={model}", png(self.images[0])).json)], model)

    @staticmethod
    def binary(reply):
        length = int(reply.headers["inference-header-content-length"])
        (output,) = json.loads(reply.body[:length])["outputs"]
        assert output["parameters"]["binary_data_size"] == len(reply.body) - length == 40
        return struct.unpack("<10f", reply.body[length:])

    @staticmethod
    def by_index(prediction):
        row = [0] * 10
        for guess in prediction["probabilities"]:
            row[guess["index"]] = guess["probability"]
        return row

    def test_parallel_requests_get_their_own_answers(self):
        """Others in the same batch, other outputs, other models: nothing shows."""
        failures = []

        def client(seed):
            connection = self.server.connect()
            for turn in range(30):
                at = (seed + turn) % 6
                model = ("first", "second")[(seed + turn) % 2]
                try:
                    if turn % 3 == 0:
                        outputs = [{"name": "probabilities", "parameters": {"classification": 1}}]
                        reply = self.server.post(
                            f"/v2/models/{model}/infer",
                            infer_body([self.images[at]], outputs=outputs),
                            connection=connection,
                        )
                        best = max(range(10), key=self.expected[model][at].__getitem__)
                        self.assertEqual(reply.json["outputs"][0]["data"][0].split(":")[1], str(best))
                    elif turn % 5 == 0:
                        reply = self.server.post(
                            f"/v2/models/{model}/infer", infer_body([b"\0"]), connection=connection
                        )
                        self.assertEqual(reply.status, 400)
                    else:
                        reply = self.server.infer(model, [self.images[at]], connection=connection)
                        self.assert_answers(probabilities(reply), model, [at])
                except AssertionError as error:
                    failures.append(error)
            connection.close()

        threads = [threading.Thread(target=client, args=(seed,)) for seed in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_large_requests_are_answered_whole(self):
        many = [self.images[i % 6] for i in range(700)]
        for model in ("first", "second"):
            body, headers = binary_body(many)
            self.assert_answers(
                probabilities(self.server.post(f"/v2/models/{model}/infer", body, headers)),
                model,
                [i % 6 for i in range(700)],
            )

    def test_the_ensemble_is_the_mean_of_its_models(self):
        reply = self.server.infer("ensemble", self.images)
        for name in ("first", "second"):
            self.assert_answers(probabilities(reply, f"{name}.probabilities"), name, range(6))
        outputs = {output["name"]: output for output in reply.json["outputs"]}
        for i, row in enumerate(probabilities(reply)):
            both = [self.expected[name][i] for name in ("first", "second")]
            for value, a, b in zip(row, *both):
                self.assertAlmostEqual(value, (a + b) / 2, places=6)
            agree = [one.index(max(one)) == row.index(max(row)) for one in both]
            self.assertEqual(outputs["agreement"]["data"][i], sum(agree) / 2)
        self.assertEqual(reply.json["parameters"], {"member.first": "ok", "member.second": "ok"})

    def test_predict_tells_what_each_model_said(self):
        form = (
            b'--x\r\nContent-Disposition: form-data; name="image"; filename="a.png"\r\n\r\n'
            + png(self.images[1])
            + b"\r\n--x--\r\n"
        )
        reply = self.server.post("/predict?top=3", form, {"Content-Type": "multipart/form-data; boundary=x"})
        self.assertEqual(reply.status, 200, reply.body)
        self.assertEqual(reply.json["model"], "ensemble")
        self.assertEqual(len(reply.json["probabilities"]), 3)
        self.assertEqual({member["model"] for member in reply.json["members"]}, {"first", "second"})
        for member in reply.json["members"]:
            expected = self.expected[member["model"]][1]
            self.assertEqual(member["index"], expected.index(max(expected)))
        light = self.server.post("/predict", png(bytes([250] * PIXELS))).json
        self.assertTrue(light["inverted"])
        self.assertIn("inverted", light["note"])
        large = self.server.post("/predict?model=first", png(bytes(1500 * 1500), 1500))
        self.assertEqual((large.status, large.json["inverted"]), (200, False))

    def test_metadata_config_and_statistics(self):
        get = lambda path: self.server.get(path).json
        self.assertIn("binary_tensor_data", get("/v2")["extensions"])
        self.assertEqual(get("/v2/"), get("/v2"))
        self.assertEqual(set(get("/v2/models")["models"]), {"first", "second", "ensemble"})
        metadata = get("/v2/models/first")
        self.assertEqual(metadata["inputs"], [{"name": "image", "datatype": "FP32", "shape": [-1, SIDE, SIDE, 1]}])
        self.assertEqual(metadata["outputs"], [{"name": "probabilities", "datatype": "FP32", "shape": [-1, 10]}])
        self.assertEqual(get("/v2/models/first/versions/1"), metadata)
        self.assertEqual(self.server.get("/v2/models/first/versions/7").status, 404)
        self.assertTrue(get("/v2/models/first/ready")["ready"])
        self.assertEqual(get("/v2/models/first/config")["max_batch_size"], 64)
        before = get("/v2/models/second/stats")["model_stats"][0]
        self.server.infer("second", self.images)
        after = get("/v2/models/second/stats")["model_stats"][0]
        self.assertEqual(after["inference_count"] - before["inference_count"], 6)
        self.assertGreater(
            after["inference_stats"]["compute_infer"]["ns"], before["inference_stats"]["compute_infer"]["ns"]
        )
        self.assertEqual(get("/v1/models/first")["model_version_status"][0]["state"], "AVAILABLE")
        self.assertIn(
            "serving_default", get("/v1/models/first/metadata")["metadata"]["signature_def"]["signature_def"]
        )

    def test_metrics_count(self):
        before = self.server.metric("lockring_request_seconds_count", 'model="first"')
        for _ in range(5):
            self.server.infer("first", self.images[:1])
        self.assertEqual(self.server.metric("lockring_request_seconds_count", 'model="first"') - before, 5)
        self.assertEqual(
            self.server.metric("nv_inference_request_success", 'model="first"'),
            self.server.metric("lockring_requests_total", 'model="first",version="1",outcome="ok"'),
        )
        self.assertGreater(self.server.metric("lockring_batch_rows_count"), 0)

    def test_pages_are_there_and_refer_to_nothing_else(self):
        for path in ("/", "/docs", "/app.js", "/docs.js", "/style.css", "/icon.svg"):
            reply = self.server.get(path)
            self.assertEqual(reply.status, 200, path)
            rest = reply.body.replace(b"http://www.w3.org/2000/svg", b"")
            self.assertNotIn(b"//cdn", rest)
            self.assertNotIn(b'src="http', rest)
        api = self.server.get("/openapi.json").json
        self.assertIn("/v2/models/{model}/infer", api["paths"])
        samples = self.server.get("/samples").json["samples"]
        self.assertEqual(len(samples), 20)
        picture = self.server.get(samples[0]["url"])
        self.assertEqual((picture.headers["content-type"], picture.body[:4]), ("image/png", b"\x89PNG"))
        self.assertEqual(self.server.get("/samples/99.png").status, 404)
        status = self.server.get("/status").json
        self.assertTrue(status["ready"])
        self.assertEqual(len(status["models"]), 3)

    def test_jobs(self):
        headers = {"Prefer": "respond-async", "Idempotency-Key": "k1"}
        accepted = self.server.post("/v2/models/first/infer", infer_body(self.images), headers)
        self.assertEqual(accepted.status, 202)
        place = accepted.headers["location"]
        self.assertEqual(place, accepted.json["location"])
        job = self.server.get(place + "?wait=30").json
        self.assertEqual(job["status"], "done")
        self.assert_answers(probabilities(self.server.get(place + "/result")), "first", range(6))
        again = self.server.post("/v2/models/first/infer", infer_body(self.images), headers)
        self.assertEqual(again.headers["location"], place)
        other = self.server.post("/v2/models/first/infer", infer_body(self.images[:1]), headers)
        self.assertEqual(other.status, 422)
        self.assertEqual(self.server.ask("DELETE", place).status, 200)
        self.assertEqual(self.server.get(place).status, 404)
        posted = self.server.post("/jobs", {"model": "second", "request": infer_body(self.images)})
        self.assertEqual(posted.status, 202)
        self.server.get(posted.headers["location"] + "?wait=30")
        self.assert_answers(
            probabilities(self.server.get(posted.headers["location"] + "/result")), "second", range(6)
        )
        self.assertEqual(self.server.get("/jobs/none").status, 404)
        self.assertEqual(self.server.get(place + "?wait=x").status, 400)
        self.assertGreaterEqual(self.server.metric("lockring_jobs_total", 'event="done"'), 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
