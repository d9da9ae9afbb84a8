"""Programs that run while a test watches them."""
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SANITIZED = any(name in Path(sys.argv[1]).read_bytes() for name in (b"__asan_init", b"__tsan_init"))


class Background(subprocess.Popen):
    """What it prints goes to files, since a full pipe would stop it. It does not outlive its test."""

    def __init__(self, test, command, **how):
        self.out, self.err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        super().__init__([str(word) for word in command], stdout=self.out, stderr=self.err, **how)
        test.addCleanup(self.end)

    def printed(self):
        """So far, to standard output and to standard error."""
        # Not read from the files' positions: those are the program's too.
        return tuple(os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode() for file in (self.out, self.err))

    def wait_for_line(self, start):
        """Until a line of standard error begins so, or the program has ended."""
        while self.poll() is None and not any(line.startswith(start) for line in self.printed()[1].splitlines()):
            time.sleep(0.001)

    def communicate(self, timeout=600):
        self.wait(timeout)
        return self.printed()

    def end(self):
        if self.poll() is None:
            self.kill()
            self.wait()
        self.out.close()
        self.err.close()
