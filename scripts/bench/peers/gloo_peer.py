"""All-reduce by Gloo, through PyTorch: two processes of this machine, one size after the other.

    gloo_peer.py --ranks N --seconds S BYTES...
"""

import argparse
import json
import os
import statistics
import time

import torch
import torch.distributed
import torch.multiprocessing


def seconds_of_one(bytes_, seconds):
    vector = torch.full([bytes_ // 4], 1e-9)

    def several(count):
        torch.distributed.barrier()
        start = time.perf_counter()
        for _ in range(count):
            torch.distributed.all_reduce(vector)
        took = torch.tensor([(time.perf_counter() - start) / count])
        torch.distributed.all_reduce(took, op=torch.distributed.ReduceOp.MAX)
        return took.item()

    several(3)
    count = max(1, int(seconds / 5 / several(5)))
    return statistics.median(several(count) for _ in range(5))


def work(rank, args):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(args.port))
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", rank=rank, world_size=args.ranks)
    rows = []
    for bytes_ in args.bytes:
        seconds = seconds_of_one(bytes_, args.seconds)
        busbw = bytes_ / seconds / 1e9 * 2 * (args.ranks - 1) / args.ranks
        rows.append({"bytes": bytes_, "time_us": seconds * 1e6, "busbw_gbs": busbw})
    if rank == 0:
        print(json.dumps(rows))
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--port", type=int, default=29517)
    parser.add_argument("bytes", type=int, nargs="+")
    arguments = parser.parse_args()
    torch.multiprocessing.spawn(work, args=(arguments,), nprocs=arguments.ranks)
