"""ONNX Runtime on its CPU provider, called plainly or with inputs and outputs bound beforehand."""

import common

import numpy as np
import onnxruntime as ort

from onnx_model import onnx_model


def inference(bound):
    def prepare(model, batch_size, threads):
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        session = ort.InferenceSession(onnx_model(model, batch_size), options, providers=["CPUExecutionProvider"])
        x = common.inputs(batch_size).reshape(batch_size, 1, 28, 28)
        if not bound:
            return lambda: session.run(None, {"x": x})
        binding = session.io_binding()
        binding.bind_cpu_input("x", x)
        binding.bind_ortvalue_output("y", ort.OrtValue.ortvalue_from_numpy(np.empty((batch_size, 10), np.float32)))
        return lambda: session.run_with_iobinding(binding)

    return prepare


common.main(ort.__version__, infer=lambda model: {"run": inference(False), "bound": inference(True)})
