#!/usr/bin/env python3
"""Goodput of one plain TCP stream from the second to the first host that scripts/netns/run emulates: what any exchange
between them could reach at best. Run under it, one rank a host; the first rank prints {"goodput_gbs": ...}.
"""
import json
import os
import socket
import sys
import time

BLOCK = 1 << 18
PORT = 5201


def first_host():
    """Its address, in the network that every host is in."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((os.environ["OMPI_MCA_btl_tcp_if_include"].split("/")[0], 9))  # sends nothing
        return probe.getsockname()[0].rsplit(".", 1)[0] + ".10"


def send(seconds):
    deadline = time.monotonic() + 10
    while True:
        try:
            stream = socket.create_connection((first_host(), PORT))
            break
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
    with stream:
        block, end = bytes(BLOCK), time.monotonic() + seconds
        while time.monotonic() < end:
            stream.sendall(block)


def receive(seconds):
    """Gigabytes a second, without the first part, which a link may carry at once after a pause."""
    with socket.create_server((first_host(), PORT)) as server:
        stream, _ = server.accept()
    block = memoryview(bytearray(BLOCK))
    with stream:
        begin = time.monotonic() + 0.2 * seconds
        while time.monotonic() < begin:
            stream.recv_into(block)
        start, received = time.monotonic(), 0
        while count := stream.recv_into(block):
            received, end = received + count, time.monotonic()
    return received / (end - start) / 1e9


seconds = float(sys.argv[1])
rank = int(os.environ["OMPI_COMM_WORLD_RANK"])
if rank == 0:
    print(json.dumps({"goodput_gbs": receive(seconds)}), flush=True)
elif rank == 1:
    send(seconds)
