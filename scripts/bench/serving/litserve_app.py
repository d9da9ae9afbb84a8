"""LitServe with ONNX Runtime: two workers, two processes that answer HTTP. litserve_app.py PORT"""

import os
import sys

import litserve
import numpy as np
import onnxruntime as ort


class Cnn(litserve.LitAPI):
    def setup(self, device):
        options = ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.session = ort.InferenceSession(os.environ["MODEL"], options, providers=["CPUExecutionProvider"])

    def decode_request(self, request):
        return np.array(request["inputs"][0]["data"], np.float32).reshape(1, 1, 28, 28)

    def predict(self, x):
        return self.session.run(["y"], {"x": x})[0][0]

    def encode_response(self, y):
        return {"outputs": [{"name": "y", "shape": [1, 10], "datatype": "FP32", "data": y.tolist()}]}


if __name__ == "__main__":
    server = litserve.LitServer(
        Cnn(max_batch_size=1, api_path="/v2/models/cnn/infer"),
        accelerator="cpu",
        devices=1,
        workers_per_device=2,
        fast_queue=True,
        timeout=30,
    )
    server.run(
        host="127.0.0.1",
        port=int(sys.argv[1]),
        num_api_servers=2,
        log_level="warning",
        generate_client_file=False,
        access_log=False,
    )
