"""Drives a Chromium over the pipe of its DevTools protocol, with the standard library alone."""

import base64
import fcntl
import json
import os
import select
import subprocess
import tempfile
import time
from pathlib import Path

# How long a machine may take that does many other things meanwhile.
PATIENCE = 30.0

# Reports what the policy of the page forbids, which would else be a line of the console only.
VIOLATIONS = """
globalThis.violations = [];
addEventListener('securitypolicyviolation', (event) => violations.push(`${event.violatedDirective}: ${event.blockedURI} ${event.sample}`));
"""


def high(pipe):
    """The ends of a pipe with numbers that are not 3 and 4."""
    ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in pipe]
    for end in pipe:
        os.close(end)
    return ends


class Browser:
    """A Chromium without a window and with a profile of its own."""

    def __init__(self, program, log):
        self.profile = tempfile.TemporaryDirectory(prefix="causeway-console-", ignore_cleanup_errors=True)
        their_in, self.out = high(os.pipe())
        self.incoming, their_out = high(os.pipe())
        command = [
            program, "--headless=new", "--no-sandbox", "--remote-debugging-pipe", "--disable-gpu", "--disable-dev-shm-usage",
            "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--disable-default-apps", "--disable-extensions", "--hide-scrollbars", "--force-device-scale-factor=1",
            "--window-size=1360,900", f"--user-data-dir={self.profile.name}", "about:blank",
        ]
        # Chromium reads from descriptor 3, and writes to 4.
        shell = f'exec "$@" 3<&{their_in} 4>&{their_out} {their_in}<&- {their_out}>&-'
        self.log = open(log, "w")
        self.process = subprocess.Popen(
            ["bash", "-c", shell, "bash", *command], pass_fds=(their_in, their_out), stdin=subprocess.DEVNULL,
            stdout=self.log, stderr=self.log, env={**os.environ, "HOME": self.profile.name, "TZ": "UTC"},
        )
        os.close(their_in)
        os.close(their_out)
        self.buffer = b""
        self.serial = 0
        self.pages = {}
        self.answers = {}

    def read(self, timeout):
        """Takes what has come, and waits for it at most so long."""
        if not select.select([self.incoming], [], [], timeout)[0]:
            return
        octets = os.read(self.incoming, 1 << 20)
        if not octets:
            raise RuntimeError(f"Chromium has ended: see {self.log.name}")
        *messages, self.buffer = (self.buffer + octets).split(b"\0")
        for message in map(json.loads, messages):
            if "id" in message:
                self.answers[message["id"]] = message
            elif page := self.pages.get(message.get("sessionId")):
                page.happened(message["method"], message["params"])

    def call(self, method, parameters=None, session=None):
        self.serial += 1
        serial = self.serial
        request = {"id": serial, "method": method, "params": parameters or {}, **({"sessionId": session} if session else {})}
        os.write(self.out, json.dumps(request).encode() + b"\0")
        end = time.monotonic() + PATIENCE
        while serial not in self.answers:
            if time.monotonic() > end:
                raise TimeoutError(f"{method} is not answered")
            self.read(0.5)
        answer = self.answers.pop(serial)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def page(self, **how):
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", {"url": "about:blank", "browserContextId": context})["targetId"]
        session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        return Page(self, session, target, context, **how)

    def close(self):
        try:
            self.call("Browser.close")
        except (RuntimeError, TimeoutError, OSError):
            self.process.kill()
        self.process.wait(PATIENCE)
        os.close(self.out)
        os.close(self.incoming)
        self.log.close()
        self.profile.cleanup()


class Page:
    """A tab with its own storage, and all that it did."""

    def __init__(self, browser, session, target, context, width=1360, height=900, dark=False, mobile=False):
        self.browser, self.session, self.target, self.context = browser, session, target, context
        # Requested addresses; lines of the console and errors; answers with a status from 400 on.
        self.requests, self.complaints, self.refused = [], [], []
        self.instead = None
        browser.pages[session] = self
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Page.addScriptToEvaluateOnNewDocument", source=VIOLATIONS)
        self.look(width, height, dark, mobile)

    def call(self, method, **parameters):
        return self.browser.call(method, parameters, self.session)

    def happened(self, method, event):
        if method == "Network.requestWillBeSent":
            self.requests.append(event["request"]["url"])
        elif method == "Network.responseReceived" and event["response"]["status"] >= 400:
            self.refused.append((event["response"]["status"], event["response"]["url"]))
        elif method == "Fetch.requestPaused":
            answer = self.instead(event["request"]["url"])
            body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.call("Fetch.fulfillRequest", requestId=event["requestId"], responseCode=200, body=base64.b64encode(body).decode(),
                      responseHeaders=[{"name": "content-type", "value": "application/json"}])
        elif method == "Runtime.exceptionThrown":
            details = event["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and event["type"] in ("error", "warning", "assert"):
            self.complaints.append(" ".join(str(part.get("value", part.get("description"))) for part in event["args"]))
        elif method == "Log.entryAdded" and event["entry"]["level"] in ("error", "warning"):
            entry = event["entry"]
            # A refusal is a line of the console, too; it is among `refused` already.
            if not (entry["source"] == "network" and "the server responded with a status of" in entry["text"]):
                self.complaints.append(f"{entry['source']}: {entry['text']}")

    def look(self, width, height, dark=False, mobile=False):
        self.width, self.height = width, height
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2 if mobile else 1, mobile=mobile)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}, {"name": "prefers-reduced-motion", "value": "reduce"}])

    def answer_instead(self, answer, *patterns):
        """Requests for these addresses get what `answer` makes of the address, not what the UPF answers."""
        self.instead = answer
        self.call("Fetch.enable", patterns=[{"urlPattern": pattern} for pattern in patterns])

    def download_into(self, folder):
        self.browser.call("Browser.setDownloadBehavior", {"behavior": "allow", "browserContextId": self.context, "downloadPath": str(folder)})

    def open(self, address):
        self.call("Page.navigate", url=address)

    def go(self, fragment):
        self.value(f"void (location.hash = {json.dumps(fragment)})")

    def value(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", expression))
        return answer["result"].get("value")

    def text(self, selector="body"):
        return self.value(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    def until(self, expression, what=None, patience=PATIENCE):
        """Waits until an expression holds."""
        end = time.monotonic() + patience
        while True:
            try:
                if self.value(f"Boolean({expression})"):
                    return
            except RuntimeError as error:
                # The document changes while a page is loaded.
                if time.monotonic() > end:
                    raise error
            if time.monotonic() > end:
                raise AssertionError(f"{what or expression} never came; the page says: {self.text('main')[:500]}\n{self.complaints}")
            self.browser.read(0.05)

    def until_text(self, words, selector="main"):
        self.until(f"(document.querySelector({json.dumps(selector)})?.innerText ?? '').includes({json.dumps(words)})", repr(words))

    def key(self, name, text=None, modifiers=0):
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowRight": 39, "ArrowDown": 40}
        key = {"key": name, "code": name, "windowsVirtualKeyCode": codes.get(name, 0), "modifiers": modifiers}
        if name == "Enter":
            text = "\r"
        self.call("Input.dispatchKeyEvent", type="keyDown", **key, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **key)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def click(self, selector):
        self.until(f"document.querySelector({json.dumps(selector)}) && !document.querySelector({json.dumps(selector)}).disabled")
        self.value(f"document.querySelector({json.dumps(selector)}).click()")

    def screenshot(self, path, whole=True):
        """The page from its top to its end, or what the window shows of it."""
        # Charts are drawn when their width is known, and values come each second.
        self.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 120))))")
        height = min(6000, self.value("document.documentElement.scrollHeight")) if whole else self.height
        image = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole,
                          clip={"x": 0, "y": 0, "width": self.width, "height": height, "scale": 1})
        Path(path).write_bytes(base64.b64decode(image["data"]))

    def violations(self):
        return self.value("globalThis.violations ?? []")

    def close(self):
        self.browser.call("Target.closeTarget", {"targetId": self.target})
        del self.browser.pages[self.session]
