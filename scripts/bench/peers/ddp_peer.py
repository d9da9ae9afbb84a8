"""Training by PyTorch's DistributedDataParallel over Gloo: processes of this machine, one thread each.

    ddp_peer.py --ranks N --model M --batch-size PER-RANK --seconds S
"""

import argparse
import json
import os
import socket
import statistics
import time

import common
import torch
import torch.distributed
import torch.multiprocessing
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel
from torch_model import build


def work(rank, args):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(args.port))
    torch.set_num_threads(1)
    torch.manual_seed(0)
    torch.distributed.init_process_group("gloo", rank=rank, world_size=args.ranks)
    images, labels = (torch.from_numpy(array) for array in common.load_data())
    labels = labels.long()
    net = build(args.model)
    if args.model == "cnn":
        net = net.to(memory_format=torch.channels_last)
    net = DistributedDataParallel(net, gradient_as_bucket_view=True)
    optimizer = torch.optim.Adam(net.parameters(), lr=common.LEARNING_RATE, fused=True)
    draw = common.batches(args.batch_size * args.ranks)

    def step():
        mine = torch.from_numpy(next(draw)[rank :: args.ranks])
        loss = F.cross_entropy(net(images[mine].float().div_(255).unsqueeze(1)), labels[mine])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    def several(count):
        torch.distributed.barrier()
        start = time.perf_counter()
        for _ in range(count):
            step()
        took = torch.tensor([(time.perf_counter() - start) / count])
        torch.distributed.all_reduce(took, op=torch.distributed.ReduceOp.MAX)
        return took.item()

    several(5)
    count = max(5, round(args.seconds / 5 / several(5)))
    seconds = statistics.median(several(count) for _ in range(5))
    if rank == 0:
        print(json.dumps({"version": torch.__version__, "images_per_second": args.batch_size * args.ranks / seconds}))
    torch.distributed.barrier()  # who leaves first takes the others down
    torch.distributed.destroy_process_group()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--model", choices=["mlp", "cnn"], required=True)
    parser.add_argument("--batch-size", type=int, required=True)
    parser.add_argument("--seconds", type=float, default=3)
    arguments = parser.parse_args()
    arguments.port = free_port()
    torch.multiprocessing.spawn(work, args=(arguments,), nprocs=arguments.ranks)
