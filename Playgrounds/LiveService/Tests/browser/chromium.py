"""Drives Chromium without a window through the DevTools protocol, over a pair of pipes."""

import base64
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time

TIMEOUT = 60


class Chromium:
    """A browser process with pages. It is closed at the end of a `with` block."""

    def __init__(self, width=1280, height=800):
        program = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
        if program is None:
            raise RuntimeError("Chromium is missing. Install it, for example by: apt-get install chromium")
        self._profile = tempfile.mkdtemp(prefix="live-service-browser-")
        to_browser, self._output = os.pipe()
        self._input, from_browser = os.pipe()
        # The browser reads from descriptor 3 and writes to descriptor 4.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_browser, from_browser)]

        def connect():
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self._process = subprocess.Popen(
            [
                program, "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--no-first-run",
                "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars=false",
                "--disable-background-networking", f"--window-size={width},{height}",
                f"--user-data-dir={self._profile}", "about:blank",
            ],
            pass_fds=(3, 4), preexec_fn=connect,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for end in (to_browser, from_browser, *ends):
            os.close(end)
        self._condition = threading.Condition()
        self._answers = {}
        self._last = 0
        self._is_closed = False
        #: Messages of errors in the pages.
        self.errors = []
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self._profile, ignore_errors=True)

    def open(self, address, width=1280, height=800, dark=False):
        """Opens a page in a new tab."""
        target = self.send("Target.createTarget", {"url": "about:blank"})["targetId"]
        session = self.send("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        page = Page(self, session, target)
        page.send("Page.enable")
        page.send("Runtime.enable")
        page.send("Network.enable")
        page.set_window(width, height, dark)
        page.go(address)
        return page

    def send(self, method, parameters=None, session=None):
        """Sends a command and returns its result."""
        with self._condition:
            self._last += 1
            number = self._last
            message = {"id": number, "method": method, "params": parameters or {}}
            if session:
                message["sessionId"] = session
            os.write(self._output, json.dumps(message).encode() + b"\0")
            found = self._condition.wait_for(lambda: number in self._answers or self._is_closed, TIMEOUT)
            if not found or number not in self._answers:
                raise RuntimeError(f"Chromium does not answer {method}")
            answer = self._answers.pop(number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def _read(self):
        pending = b""
        while chunk := os.read(self._input, 1 << 16):
            *messages, pending = (pending + chunk).split(b"\0")
            for message in map(json.loads, messages):
                with self._condition:
                    if "id" in message:
                        self._answers[message["id"]] = message
                    elif message["method"] == "Runtime.exceptionThrown":
                        details = message["params"]["exceptionDetails"]
                        self.errors.append(details.get("exception", {}).get("description", details["text"]))
                    self._condition.notify_all()
        with self._condition:
            self._is_closed = True
            self._condition.notify_all()


class Page:
    """A tab of the browser."""

    def __init__(self, browser, session, target):
        self._browser = browser
        self._session = session
        self._target = target

    def send(self, method, parameters=None):
        return self._browser.send(method, parameters, self._session)

    def close(self):
        self._browser.send("Target.closeTarget", {"targetId": self._target})

    def go(self, address):
        self.send("Page.navigate", {"url": address})

    def set_window(self, width, height, dark=False):
        self.send("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        self.send("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})

    def set_offline(self, offline):
        self.send("Network.emulateNetworkConditions", {
            "offline": offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1})

    def value(self, expression):
        """Returns the value of a JavaScript expression, which may be a promise."""
        answer = self.send("Runtime.evaluate", {
            "expression": expression, "returnByValue": True, "awaitPromise": True})
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def wait(self, condition, timeout=TIMEOUT):
        """Waits until a JavaScript expression is true, and returns its value."""
        end = time.monotonic() + timeout
        while True:
            try:
                value = self.value(condition)
            except RuntimeError:
                # The page may be loading.
                value = None
            if value:
                return value
            if time.monotonic() > end:
                raise AssertionError(f"still not true after {timeout} s: {condition}")
            time.sleep(0.02)

    def wait_for(self, expression, expected):
        """Waits until a JavaScript expression has a value."""
        try:
            self.wait(f"JSON.stringify(({expression}) ?? null) === {json.dumps(json.dumps(expected, separators=(',', ':')))}")
        except AssertionError as error:
            state = self.value("JSON.stringify([document.body.innerText.slice(0, 1000), feed, list.token, list.revision])")
            raise AssertionError(f"{error}; it is {self.value(expression)}, the page is {state}") from None

    def press(self, key, text=None):
        codes = {"Escape": 27, "Enter": 13, "ArrowDown": 40, "ArrowUp": 38, "PageDown": 34, "End": 35, "Home": 36}
        event = {"key": key, "code": key, "windowsVirtualKeyCode": codes.get(key, 0)}
        if text:
            event["text"] = text
        self.send("Input.dispatchKeyEvent", {"type": "keyDown", **event})
        self.send("Input.dispatchKeyEvent", {"type": "keyUp", **event})

    def type(self, text):
        self.send("Input.insertText", {"text": text})

    def click(self, selector):
        """Waits until an element is there, and clicks its center."""
        x, y = self.wait(f"""(() => {{
            const box = document.querySelector({json.dumps(selector)}).getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2]; }})()""")
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1})

    def screenshot(self, path):
        image = self.send("Page.captureScreenshot", {"format": "png"})["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(image))
