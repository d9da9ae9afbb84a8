"""PyTorch on a GPU: eager and compiled, in either memory layout, in float32 (TF32) and bfloat16.

Usage: torch_gpu_peer.py train|infer --model M --batch-size N --seconds S [--device cuda]
Prints one JSON object: the version, and the figures of each form. The data set lies in the device's memory.
"""
import argparse
import contextlib
import json

import common
import torch
from torch.nn import functional as F
from torch_model import build

FORMS = {  # compiled, channels last, bfloat16
    "eager": (False, False, False),
    "channels_last": (False, True, False),
    "compile channels_last": (True, True, False),
    "compile channels_last bf16": (True, True, True),
}


def net_of(args, channels_last):
    torch.manual_seed(0)
    return build(args.model).to(args.device, memory_format=torch.channels_last if channels_last else torch.contiguous_format)


def precision(args, bf16):
    return torch.autocast(args.device, torch.bfloat16) if bf16 else contextlib.nullcontext()


def training(args, compiled, channels_last, bf16):
    net = net_of(args, channels_last)
    images, labels = (torch.from_numpy(array).to(args.device) for array in common.load_data())
    labels = labels.long()
    optimizer = torch.optim.Adam(net.parameters(), lr=common.LEARNING_RATE, fused=True)

    def loss_of(x, y):
        with precision(args, bf16):
            return F.cross_entropy(net(x), y)

    if compiled:
        loss_of = torch.compile(loss_of, mode="reduce-overhead")
    draw = common.batches(args.batch_size)

    def step():
        batch = torch.from_numpy(next(draw)).to(args.device)
        loss = loss_of(images[batch].float().div_(255).unsqueeze(1), labels[batch])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    return step


def inference(args, compiled, channels_last, bf16):
    net = net_of(args, channels_last).eval()
    layout = torch.channels_last if channels_last else torch.contiguous_format
    x = torch.from_numpy(common.inputs(args.batch_size)).permute(0, 3, 1, 2).to(args.device)
    x = x.contiguous(memory_format=layout)
    forward = torch.compile(net, mode="reduce-overhead") if compiled else net

    def call():
        with torch.inference_mode(), precision(args, bf16):
            forward(x).float().cpu()

    return call


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["train", "infer"])
    parser.add_argument("--model", required=True)
    parser.add_argument("--batch-size", type=int, required=True)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    finish = torch.cuda.synchronize if args.device == "cuda" else lambda: None
    results = {}
    for form, settings in FORMS.items():
        if args.what == "train":
            results[form] = common.measure_training(training(args, *settings), finish, args.batch_size, args.seconds)
        else:
            results[form] = common.measure_inference(inference(args, *settings), args.batch_size, args.seconds)
    print(json.dumps({"version": torch.__version__, "forms": results}))


main()
