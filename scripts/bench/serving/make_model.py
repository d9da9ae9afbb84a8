"""A bundle of the model `cnn` as an ONNX graph that takes pixels from 0 to 1 and gives the same logits.

make_model.py BUNDLE MODEL.onnx
"""

import json
import sys
from pathlib import Path

import numpy as np
from onnx import numpy_helper
from onnx import load_model_from_string

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "peers"))
from onnx_model import onnx_model

bundle = Path(sys.argv[1]).read_bytes()
header_size = int.from_bytes(bundle[:8], "little")
header = json.loads(bundle[8 : 8 + header_size])
about = header["__metadata__"]


def tensor(name):
    begin, end = header[name]["data_offsets"]
    return np.frombuffer(bundle[8 + header_size + begin : 8 + header_size + end], np.float32).reshape(
        header[name]["shape"]
    )


def convolution(name):
    """From output, height, width, input to output, input, height, width."""
    return tensor(name + ".weight").transpose(0, 3, 1, 2), tensor(name + ".bias")


mean, deviation = (json.loads(about[key])[0] for key in ("mean", "deviation"))
weights, bias = convolution("conv1")
first = weights / deviation, bias - weights.sum((1, 2, 3)) * mean / deviation  # normalisation as part of it
flattened = tensor("dense1.weight").reshape(-1, 3, 3, 64).transpose(0, 3, 1, 2).reshape(-1, 576)
arrays = [
    *first,
    *convolution("conv2"),
    *convolution("conv3"),
    flattened,
    tensor("dense1.bias"),
    tensor("dense2.weight"),
    tensor("dense2.bias"),
]
model = load_model_from_string(onnx_model("cnn", "batch"))
for initializer, array in zip(model.graph.initializer, arrays, strict=True):
    assert list(initializer.dims) == list(array.shape), initializer.name
    initializer.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(array, np.float32), initializer.name))
Path(sys.argv[2]).write_bytes(model.SerializeToString())
