"""Programs that run while a test watches them."""
import contextlib
import ctypes
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path


def is_sanitized(program):
    return program.is_file() and any(name in program.read_bytes() for name in (b"__asan_init", b"__tsan_init"))


SANITIZED = is_sanitized(Path(*sys.argv[1:2]))
LIBC, PR_SET_PDEATHSIG = ctypes.CDLL(None), 1
PATIENCE = 900 if SANITIZED else 300  # seconds that nothing here should need, however busy the machine


def wait_until(condition, process=None, pause=0.005):
    """Until it holds; in vain if the process that is to bring it about ends before."""
    end = time.monotonic() + PATIENCE
    while not condition():
        gone = process is not None and process.poll() is not None
        if gone and condition():
            return
        if gone or time.monotonic() > end:
            raise AssertionError(f"waited in vain: {process.printed() if process else condition}")
        time.sleep(pause)


def free_port():
    """One that nobody gets who does not ask for it: below those that the system gives to connections."""
    first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = random.SystemRandom().randrange(min(10000, first // 2), first)
        with contextlib.suppress(OSError), socket.socket() as listener:
            listener.bind(("127.0.0.1", port))
            return port


class Background(subprocess.Popen):
    """What it prints goes to files, since a full pipe would stop it. It does not outlive its test, nor this process,
    nor do those that it started: they share its session, and mpirun and the like end theirs when asked to end."""

    def __init__(self, test, command, stderr=None, preexec_fn=None, **how):
        def prepare():
            LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
            if preexec_fn:
                preexec_fn()

        self.out, self.err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        super().__init__([str(word) for word in command], stdout=self.out, stderr=stderr or self.err,
                         start_new_session=True, preexec_fn=prepare, **how)
        test.addCleanup(self.end)

    def printed(self):
        """So far, to standard output and to standard error."""
        # Not read from the files' positions: those are the program's too.
        return tuple(os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode(errors="replace")
                     for file in (self.out, self.err))

    def has_line(self, start):
        """Whether a line of standard error begins so."""
        return any(line.startswith(start) for line in self.printed()[1].splitlines())

    def wait_for_line(self, start):
        """Until there is one, or the program has ended."""
        wait_until(lambda: self.poll() is not None or self.has_line(start))

    def communicate(self, timeout=PATIENCE):
        self.wait(timeout)
        return self.printed()

    def end(self):
        if self.poll() is None:
            os.killpg(self.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.wait(20)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            self.wait()
        self.out.close()
        self.err.close()


def run(test, command, **how):
    """To its end, which must come in time."""
    process = Background(test, command, **how)
    out, err = process.communicate()
    return subprocess.CompletedProcess(command, process.returncode, out, err)


class Paced(Background):
    """Its standard error is read line by line as the test asks for them, and takes a few more that nobody has read: so
    a program that prints a line an epoch gets no further ahead of its test, however fast it is and however late the
    test. It runs freely from `go_on` or `communicate` on."""

    def __init__(self, test, command, **how):
        ours, theirs = socket.socketpair()
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)  # as small as there are
        ours.settimeout(PATIENCE)
        self.reader = None
        with ours, theirs:
            self.lines = ours.makefile("rb", buffering=0)
            super().__init__(test, command, stderr=theirs, **how)

    def read_line(self):
        """False at the end."""
        line = self.lines.readline()
        self.err.write(line)
        self.err.flush()
        return bool(line)

    def wait_for_line(self, start):
        while not self.has_line(start) and self.read_line():
            pass

    def go_on(self):
        def read_all():
            while self.read_line():
                pass

        self.reader = threading.Thread(target=read_all)
        self.reader.start()

    def communicate(self, timeout=PATIENCE):
        if not self.reader:
            self.go_on()
        self.wait(timeout)
        self.reader.join()
        return self.printed()

    def end(self):
        if not self.reader:
            self.go_on()
        super().end()
        self.reader.join()
        self.lines.close()
