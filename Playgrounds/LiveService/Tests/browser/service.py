"""The service under test, and the files that it shows."""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request

SECTIONS = ["games", "net", "editors", "libs", "doc", "utils"]


def make_rows(count):
    """Returns rows with an `id`, a name and some more members."""
    return [
        {
            "id": number, "name": f"package-{number}", "version": f"1.{number % 17}",
            "section": SECTIONS[number % len(SECTIONS)], "size": number * 37 % 90_000,
            "depends": f"libc (>= 2.{number % 40}), base-{number % 900}",
        }
        for number in range(1, count + 1)
    ]


class Service:
    """A running service with the list `packages`, its source `original` and the source `updated`."""

    def __init__(self, program, rows, updated=None, options=()):
        self._program = program
        self._folder = tempfile.mkdtemp(prefix="live-service-")
        self._options = options
        self._process = None
        self.rows = rows
        self.save()
        self.save(updated if updated is not None else rows, "updated.json")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}/"

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self._folder, name)

    def save(self, rows=None, name="original.json"):
        """Replaces a file in one step."""
        self.write(json.dumps(self.rows if rows is None else rows, separators=(",", ":")), name)

    def write(self, text, name="original.json"):
        with open(self.path(name + ".new"), "w") as file:
            file.write(text)
        os.replace(self.path(name + ".new"), self.path(name))

    def start(self):
        self._process = subprocess.Popen(
            [
                self._program, "--key", "packages:id", "--port", str(self.port),
                "--list", f"packages=json:{self.path('original.json')}",
                "--source", f"packages:updated=json:{self.path('updated.json')}", *(option.replace("{folder}", self._folder) for option in self._options),
            ],
            stdout=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while True:
            try:
                if "loaded" in self.get("health"):
                    return
            except OSError:
                pass
            if time.monotonic() > end or self._process.poll() is not None:
                raise RuntimeError("the service does not start")
            time.sleep(0.02)

    def kill(self):
        """Ends the service as a power failure does."""
        if self._process.poll() not in (None, -signal.SIGKILL):
            raise RuntimeError(f"the service has ended by itself, with status {self._process.returncode}")
        self._process.kill()
        self._process.wait()

    def get(self, path):
        with urllib.request.urlopen(self.address + path, timeout=60) as answer:
            return answer.read().decode()

    def memory(self):
        """Returns the resident memory of the process in MiB."""
        with open(f"/proc/{self._process.pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
