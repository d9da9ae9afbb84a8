"""Parameters of two bundles, safetensors files, compared without any package.

https://github.com/huggingface/safetensors
"""
import array
import json
import math
import struct


def read(path):
    """The float32 parameters of a bundle by name, as arrays; not its golden sample."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__" and not name.startswith("golden.") and entry["dtype"] == "F32":
            begin, end = (8 + length + offset for offset in entry["data_offsets"])
            tensors[name] = array.array("f", data[begin:end])
    return tensors


def norm_of_difference(first, second):
    """Euclidean, over all tensors; they must have the same names and lengths."""
    if {name: len(values) for name, values in first.items()} != {name: len(values) for name, values in second.items()}:
        raise ValueError("the two bundles do not hold the same tensors")
    return math.sqrt(sum((a - b) ** 2 for name in first for a, b in zip(first[name], second[name])))
