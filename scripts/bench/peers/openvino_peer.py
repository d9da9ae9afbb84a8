"""OpenVINO in 32-bit floats; input and output stay in place."""

import io

import common

import openvino as ov

from onnx_model import onnx_model


def inference(model, batch_size, threads):
    settings = {
        "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": "f32",
        "NUM_STREAMS": 1,
        "PERFORMANCE_HINT": "LATENCY",
    }
    core = ov.Core()
    network = core.read_model(io.BytesIO(onnx_model(model, batch_size)))
    request = core.compile_model(network, "CPU", settings).create_infer_request()
    request.set_input_tensor(ov.Tensor(common.inputs(batch_size).reshape(batch_size, 1, 28, 28)))
    return lambda: request.infer(share_outputs=True)


# Handing the request to OpenVINO's own thread (start_async, wait) takes longer.
common.main(ov.__version__.split("-")[0], infer=lambda model: {"infer": inference})
