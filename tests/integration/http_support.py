"""A client that sends any bytes, a server to send them to, and what to look at meanwhile."""
import contextlib
import re
import resource
import signal
import socket
import subprocess
import sys
from pathlib import Path

from background import PATIENCE

SERVER = sys.argv[1]
GOOD = b"GET /good HTTP/1.1\r\nHost: x\r\n\r\n"
CHUNKED = "Transfer-Encoding: chunked"


class Client:
    def __init__(self, port, wrap=None):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        if wrap:
            self.socket = wrap(self.socket)
        self.pending = bytearray()  # which grows without being copied

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        """All of it, or as much as the server wants."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.socket.sendall(data)

    def fill(self):
        try:
            more = self.socket.recv(1 << 16)
        except ConnectionResetError:
            more = b""
        self.pending += more
        return bool(more)

    def response(self, body=True):
        """(status, fields, body), or None when the server has closed."""
        while b"\r\n\r\n" not in self.pending:
            if not self.fill():
                return None
        head, self.pending = self.pending.split(b"\r\n\r\n", 1)
        lines = head.decode().split("\r\n")
        fields = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines[1:])}
        size = int(fields.get("content-length", 0)) if body else 0
        while len(self.pending) < size:
            if not self.fill():
                return None
        content, self.pending = self.pending[:size], self.pending[size:]
        return int(lines[0].split()[1]), fields, content

    def ask(self, data):
        self.send(data)
        return self.response()

    def closed(self):
        """Waits for the server to close; True if nothing came before."""
        while self.fill():
            pass
        return not self.pending


@contextlib.contextmanager
def serving(*options, limit=None, memory=None):
    def set_limit():
        if limit:
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
        if memory:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

    with subprocess.Popen([SERVER, *map(str, options)], stdout=subprocess.PIPE, text=True, preexec_fn=set_limit) as server:
        try:
            server.port = int(server.stdout.readline())
            yield server
            if server.poll() is None:
                server.send_signal(signal.SIGTERM)
            if server.wait(PATIENCE) != 0:
                raise AssertionError(f"the server ended with {server.returncode}")
        finally:
            if server.poll() is None:
                server.kill()


def resident_kib(server):
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{server.pid}/status").read_text())[1])


def request(head, body=b""):
    """Of lines: the first is the request line."""
    return "\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + body


def post(*fields, body=b""):
    return request(["POST /p HTTP/1.1", "Host: x", *fields], body)


def connections_of(server):
    """How many sockets of connections the server holds."""
    inodes = set()
    for link in Path(f"/proc/{server.pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found = re.match(r"socket:\[(\d+)\]", str(link.readlink()))
            inodes |= {found[1]} if found else set()
    rows = [line.split() for line in Path(f"/proc/{server.pid}/net/tcp").read_text().splitlines()[1:]]
    return sum(row[9] in inodes and row[3] != "0A" for row in rows)


def cpu_seconds(server):
    fields = Path(f"/proc/{server.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100
