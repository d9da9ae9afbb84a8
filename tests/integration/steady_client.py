"""A client that asks a server for a picture's class without pause, from before it is there."""
import http.client
import threading
import time

from background import PATIENCE


class SteadyClient(threading.Thread):
    """What is not answered well after the first answer is lost."""

    def __init__(self, port, picture):
        super().__init__(daemon=True)
        self.port, self.picture = port, picture
        self.first = None  # time of the first answer
        self.answered = 0
        self.lost = []
        self.over = threading.Event()

    def run(self):
        while not self.over.is_set():
            outcome = self.ask()
            if outcome == 200:
                self.first = self.first or time.time()
                self.answered += 1
            elif self.first:
                self.lost.append(outcome)
            else:
                time.sleep(0.002)

    def ask(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request("POST", "/predict", self.picture)
            response = connection.getresponse()
            response.read()
            return response.status
        except OSError as error:
            return repr(error)
        finally:
            connection.close()

    def stop(self):
        self.over.set()
        self.join()
