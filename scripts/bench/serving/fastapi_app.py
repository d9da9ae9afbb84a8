"""FastAPI with ONNX Runtime in its quickest form: orjson both ways, and the model run on the event loop, since it takes
less time than another thread would take to wake.
"""

import os

import numpy as np
import onnxruntime as ort
import orjson
from fastapi import FastAPI, Request, Response

options = ort.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
session = ort.InferenceSession(os.environ["MODEL"], options, providers=["CPUExecutionProvider"])
app = FastAPI()


@app.post("/v2/models/cnn/infer")
async def infer(request: Request):
    tensor = orjson.loads(await request.body())["inputs"][0]
    x = np.array(tensor["data"], np.float32).reshape(-1, 1, 28, 28)
    y = session.run(["y"], {"x": x})[0]
    output = {"name": "y", "shape": list(y.shape), "datatype": "FP32", "data": y.ravel()}
    body = orjson.dumps({"model_name": "cnn", "outputs": [output]}, option=orjson.OPT_SERIALIZE_NUMPY)
    return Response(body, media_type="application/json")
