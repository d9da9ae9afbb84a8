"""The models as ONNX graphs, written without any framework: NCHW, random weights, batch size left open or fixed."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

LAYERS = {
    "mlp": [("flatten",), ("dense", 784, 512), ("relu",), ("dense", 512, 10)],
    "cnn": [
        ("conv", 1, 32), ("relu",), ("pool",), ("conv", 32, 64), ("relu",), ("pool",), ("conv", 64, 64), ("relu",),
        ("flatten",), ("dense", 576, 64), ("relu",), ("dense", 64, 10),
    ],
}  # fmt: skip


def onnx_model(name, batch_size):
    """The serialized model: input x [batch,1,28,28], output y [batch,10]."""
    rng = np.random.default_rng(0)
    nodes, weights = [], []

    def weight(*shape):
        array = (rng.normal(size=shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)
        weights.append(numpy_helper.from_array(array, f"w{len(weights)}"))
        return weights[-1].name

    kinds = {
        "conv": ("Conv", lambda i, o: [weight(o, i, 3, 3), weight(o)], {}),
        "dense": ("Gemm", lambda i, o: [weight(o, i), weight(o)], {"transB": 1}),
        "relu": ("Relu", lambda: [], {}),
        "pool": ("MaxPool", lambda: [], {"kernel_shape": [2, 2], "strides": [2, 2]}),
        "flatten": ("Flatten", lambda: [], {}),
    }
    value = "x"
    for index, (kind, *sizes) in enumerate(LAYERS[name]):
        operator, parameters, attributes = kinds[kind]
        result = "y" if index + 1 == len(LAYERS[name]) else f"v{index}"
        nodes.append(helper.make_node(operator, [value, *parameters(*sizes)], [result], **attributes))
        value = result
    tensor = lambda name, *shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, [batch_size, *shape])
    graph = helper.make_graph(nodes, name, [tensor("x", 1, 28, 28)], [tensor("y", 10)], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return model.SerializeToString()
