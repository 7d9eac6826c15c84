"""The console in a real browser, as an operator uses it. `run` starts the UPF with its sessions, and this in its network namespace."""

import json
import os
import re
import struct
import subprocess
import tempfile
import time
import unittest
import urllib.request
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from browser import PATIENCE, Browser

OUT = Path(os.environ["CONSOLE_OUT"])
BINARY = os.environ["CONSOLE_BINARY"]
DEMO = Path(os.environ["CONSOLE_DEMO"])
UE_NAMESPACE = os.environ["CONSOLE_UE_NAMESPACE"]
SMF_NAMESPACE = os.environ["CONSOLE_SMF_NAMESPACE"]
DATAPLANE = os.environ["CONSOLE_DATAPLANE"]

UPF = "http://127.0.0.1:9098"
CONSOLE = f"{UPF}/console/"
UE = "10.45.0.2"
DATA_NETWORK = "10.60.0.2"

PHONE = (390, 844)

CAPTURE = "/api/v1/sessions/{seid}/capture"
# The block with which such a file begins.
PCAPNG = bytes.fromhex("0a0d0d0a1c0000004d3c2b1a01000000ffffffffffffffff1c000000")

# A second UPF, which asks for a token at all its addresses.
TOKEN = "console-test-0123456789abcdef"
CLOSED = "http://127.0.0.8:9099"
CLOSED_CONFIG = """
upf:
  pfcp:
    server:
      - address: 127.0.0.8
  gtpu:
    server:
      - address: 127.0.0.8
    echo:
      interval: 60s
  session:
    - subnet: 10.46.0.0/16
      gateway: 10.46.0.1
      dnn: closed
      dev: cw-closed
  metrics:
    server: []
  management:
    server:
      - address: 127.0.0.8
        port: 9099
    token_file: {folder}/token
"""

# A third UPF, on the model of a P4 switch in its process.
SWITCH = "http://127.0.0.9:9098"
SWITCH_CONFIG = """
upf:
  pfcp:
    server:
      - address: 127.0.0.9
  gtpu:
    server:
      - address: 127.0.0.9
  dataplane: switch
  session:
    - subnet: 10.47.0.0/16
      gateway: 10.47.0.1
      dev: cw-switch
  metrics:
    server:
      - address: 127.0.0.9
        port: 9098
"""


def api(path):
    with urllib.request.urlopen(f"{UPF}/api/v1/{path}", timeout=PATIENCE) as answer:
        return json.load(answer)


def wait_for(condition, what):
    end = time.monotonic() + 2 * PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"{what} never came")
        time.sleep(0.1)


def ping(count, interval=0.2, size=200, burst=1):
    """Packets of a UE and their answers. A ping that a busy machine has kept waiting sends up to `burst` packets at once: it keeps its rate."""
    command = ["ip", "netns", "exec", UE_NAMESPACE, "ping", "-q", "-c", str(count), "-i", str(interval), "-s", str(size), "-l", str(burst),
               "-I", "ue1", DATA_NETWORK]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


# Sends a request to the UPF from the address of the SMF, and prints the response.
REQUEST = """
import socket, sys
smf = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
smf.settimeout(float(sys.argv[2]))
smf.sendto(bytes.fromhex(sys.argv[1]), ("10.40.0.1", 8805))
print(smf.recv(2048).hex())
"""


def ie(kind, value):
    """An IE of PFCP (TS 29.244 clause 8.1.1)."""
    return struct.pack("!HH", kind, len(value)) + value


def modify_session(seid, sequence, body):
    """The SMF modifies a session (TS 29.244 clause 7.5.4)."""
    request = struct.pack("!BBHQI", 0x21, 52, 12 + len(body), int(seid, 0), sequence << 8) + body
    command = ["ip", "netns", "exec", SMF_NAMESPACE, "python3", "-c", REQUEST, request.hex(), str(PATIENCE)]
    response = bytes.fromhex(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout)
    # The first IE is the cause: accepted.
    assert response[16:].startswith(ie(19, b"\x01")), response.hex()


class ConsoleTest(unittest.TestCase):
    """One browser; a tab for each test."""

    @classmethod
    def setUpClass(cls):
        cls.browser = Browser(os.environ["CONSOLE_CHROMIUM"], OUT / "chromium.log")
        # It sees the steps of the demo from the beginning.
        cls.overview = cls.browser.page()
        cls.overview.open(CONSOLE)
        cls.overview.until("document.querySelector('#link')?.innerText === 'live'")
        ready = lambda: "The network stays" in DEMO.read_text()
        end = time.monotonic() + 2 * PATIENCE
        while not ready():
            cls.overview.browser.read(0.1)
            if time.monotonic() > end or "Interrupted" in DEMO.read_text():
                raise AssertionError(f"the demo is not ready: {DEMO.read_text()[-500:]}")

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def open(self, fragment="", base=CONSOLE, **how):
        page = self.browser.page(**how)
        self.addCleanup(self.leave, page, urlsplit(base).netloc)
        page.open(base + fragment)
        page.until("document.querySelector('h1')")
        return page

    def leave(self, page, host):
        """No page complains, meets the limits of its policy, or asks another host."""
        self.assertEqual(page.violations(), [])
        self.assertEqual(page.complaints, [])
        self.assertEqual({urlsplit(address).netloc for address in page.requests if not address.startswith("blob:")}, {host})
        for address in page.requests:
            parts = urlsplit(address)
            if parts.path == "/api/v1/sessions":
                self.assertLessEqual(int(parse_qs(parts.query)["limit"][0]), 200, address)
        page.close()

    def folder(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return folder.name

    def start_upf(self, folder, config, base, log_name):
        """Another UPF in this network namespace, until the test ends."""
        Path(folder, "upf.yaml").write_text(config)
        with open(OUT / log_name, "w") as log:
            upf = subprocess.Popen([BINARY, "run", "--config", f"{folder}/upf.yaml"], stdout=log, stderr=log)
        self.addCleanup(upf.wait, PATIENCE)
        self.addCleanup(upf.terminate)

        def serves():
            self.assertIsNone(upf.poll(), (OUT / log_name).read_text())
            try:
                urllib.request.urlopen(f"{base}/console/", timeout=1)
                return True
            except OSError:
                return False

        wait_for(serves, f"the UPF at {base}")

    def pictures(self, page, name):
        """Screenshots in light, dark and on a phone, where nothing is wider than the screen."""
        page.screenshot(OUT / f"{name}-light.png")
        page.look(1360, 900, dark=True)
        page.screenshot(OUT / f"{name}-dark.png")
        page.look(*PHONE, mobile=True)
        page.screenshot(OUT / f"{name}-phone.png")
        wide = page.value("""[...document.querySelectorAll('main *')].filter((one) => !one.parentElement.closest('.scroll, svg')
            && one.getBoundingClientRect().right > innerWidth).map((one) => `${one.tagName} ${one.className} ${one.textContent.slice(0, 40)}`)""")
        self.assertLessEqual(page.value("document.documentElement.scrollWidth"), PHONE[0], f"{name}: {wide}")
        page.look(1360, 900)
        self.check_structure(page)

    def check_structure(self, page):
        """What a screen reader needs: one title, names of fields and drawings, captions and headings of tables."""
        self.assertEqual(page.value("document.querySelectorAll('h1').length"), 1)
        for what, selector in {
            "a field without a label": "input:not([type=hidden])",
            "a drawing without a name": "svg:not([aria-hidden=true]):not([aria-label])",
            "a table without a caption": "table:not(:has(caption))",
            "a heading without a scope": "th:not([scope])",
            "a link without a text": "a:not([aria-label])",
            "a button without a text": "button",
        }.items():
            test = {"input:not([type=hidden])": "one.labels.length > 0", "button": "one.textContent.trim()",
                    "a:not([aria-label])": "one.textContent.trim()"}.get(selector, "false")
            found = page.value(f"[...document.querySelectorAll({json.dumps(selector)})].filter((one) => !({test})).map((one) => one.id || one.textContent)")
            self.assertEqual(found, [], what)

    # Input:  the overview, open since the demo began; an SMF that adds a URR to a session, and removes it.
    # Output: figures and charts of the sessions and traffic of the demo, and the events of the session.
    def test_overview(self):
        page = self.overview
        self.addCleanup(self.leave, page, "127.0.0.1:9098")
        status = api("status")
        page.until(f"document.querySelector('.tile .value')?.innerText === '{status['sessions']}'")
        # The browser may have been too late for the modifications of the demo.
        page.until("document.querySelector('section[aria-labelledby=events-title] .state').innerText === 'live'")
        seid = api(f"sessions?ue={UE}")["sessions"][0]["seid"]
        urr_id = ie(81, struct.pack("!I", 99))
        create, remove = ie(6, urr_id + ie(62, b"\x02") + ie(37, bytes(3))), ie(17, urr_id)
        for sequence, body in enumerate((create, remove)):
            modify_session(seid, sequence, body)
        for title in ("N3", "N6 by DNN", "Packets", "Sessions by DNN", "Load of packet threads", "N4 requests"):
            page.until("[...document.querySelectorAll('.chart')].some((chart) => chart.querySelector('path.line[d*=L]')"
                       f" && chart.querySelector('.title').innerText === '{title}')", f"a line of {title}")
        for words in ("10.40.0.2", "internet", f"Session modified SEID {seid}", "answers"):
            page.until_text(words)
        # The arrow keys read the values of another moment.
        page.value("document.querySelector('.plot').focus()")
        page.key("ArrowLeft")
        page.until("/^\\d\\d:\\d\\d:\\d\\d$/.test(document.querySelector('.chart .when').innerText)")
        page.key("Escape")
        page.value("document.activeElement.blur()")
        self.pictures(page, "overview")

    # Input:  a hidden page.
    # Output: it sends nothing for as long as is watched; it goes on when it is seen again.
    def test_a_hidden_page_is_quiet(self):
        page = self.open()
        page.until("document.querySelector('#link').innerText === 'live'")
        show = "Object.defineProperty(document, 'hidden', {{ value: {}, configurable: true }}); void document.dispatchEvent(new Event('visibilitychange'))"
        page.value(show.format("true"))
        page.until("document.querySelector('#link').innerText === 'paused'")
        time.sleep(0.5)
        page.value("0")
        before = len(page.requests)
        time.sleep(2.5)
        page.value("0")
        self.assertEqual(len(page.requests), before, page.requests[before:])
        page.value(show.format("false"))
        page.until("document.querySelector('#link').innerText === 'live'")
        self.assertGreater(len(page.requests), before)

    # Input:  the keyboard alone: Tab, Enter and an address.
    # Output: what has the focus is visible; the search finds the session; Enter opens it.
    def test_keyboard(self):
        page = self.open()
        page.key("Tab")
        self.assertEqual(page.value("document.activeElement.id"), "skip")
        self.assertGreaterEqual(page.value("document.activeElement.getBoundingClientRect().left"), 0)
        self.tab_to(page, "document.activeElement.hash === '#/sessions'")
        page.key("Enter")
        page.until("document.activeElement.id === 'main' && document.querySelector('#by-ue')")
        self.tab_to(page, "document.activeElement.id === 'by-ue'")
        page.type(UE)
        page.key("Enter")
        page.until("document.querySelectorAll('#main tbody tr').length === 1")
        self.tab_to(page, "document.activeElement.closest('tbody')")
        self.assertEqual(page.value("document.activeElement.innerText"), UE)
        page.key("Enter")
        page.until("document.querySelector('h1').innerText.startsWith('Session 0x')")
        # A rule of the graph is a link to the row with all of it.
        page.until("document.querySelector('a.box.pdr')")
        self.tab_to(page, "document.activeElement.matches('a.box.pdr')")
        page.key("Enter")
        page.until("document.activeElement.id === 'pdr-1' && document.querySelector('a.box[aria-current=true]')")

    def tab_to(self, page, condition):
        for _ in range(60):
            page.key("Tab")
            visible = page.value("""(() => { const one = document.activeElement; const box = one.querySelector('rect');
                return one.matches('a.box') ? getComputedStyle(box).strokeWidth === '3px' : getComputedStyle(one).outlineStyle !== 'none'; })()""")
            self.assertTrue(visible, page.value("document.activeElement.textContent"))
            if page.value(f"Boolean({condition})"):
                return
        self.fail(f"{condition} is not reached")

    # Input:  filters that one session, all sessions and no session match, and a SEID that is none.
    # Output: these sessions; the words of the API for the last.
    def test_search(self):
        page = self.open("#/sessions")
        page.until_text("10 of 10 sessions.")
        self.pictures(page, "sessions")
        for query, found in ((f"ue={UE}", 1), ("gnb=10.30.1.2", 9), ("dnn=internet&smf=10.40.0.2", 10), ("ue=10.45.9.9", 0)):
            page.go(f"#/sessions?{query}")
            page.until_text(f"{found} session{'' if found == 1 else 's'}; the UPF has 10.")
            self.assertEqual(page.value("document.querySelectorAll('#main tbody th').length"), found, query)
        page.go("#/sessions?seid=zebra")
        page.until("document.querySelector('.problem')")
        self.assertIn("expected a SEID, for example 0x2a", page.text(".problem"))
        page.screenshot(OUT / "error-light.png")
        self.assertEqual({status for status, _ in page.refused}, {400})

    # Input:  filters and pages of a UPF with a million sessions, whose answers are made up here: one that a page ends early, and full
    #         pages.
    # Output: the search goes on by itself, then offers to; pages follow each other; each asks for 50 sessions at most.
    def test_a_million_sessions(self):
        session = {**api(f"sessions?ue={UE}")["sessions"][0]}
        page = self.open()

        def answer(address):
            query = parse_qs(urlsplit(address).query)
            after, limit = int(query.get("after", ["0"])[0], 0), int(query["limit"][0])
            self.assertLessEqual(limit, 50)
            # Every tenth request finds one session of the gNB; without a filter each page is full.
            count = (after // 10_000 % 10 == 0) if "gnb" in query else limit
            found = [{**session, "seid": hex(after + n), "ue": [f"10.0.{n}.1"]} for n in range(int(count))]
            return {"total": 1_000_000, "sessions": found, "after": hex(after + 10_000)}

        page.answer_instead(answer, "*/api/v1/sessions?*")
        page.go("#/sessions")
        page.until_text("50 of 1\u202f000\u202f000 sessions on this page.")
        page.click("#main .buttons a.button")
        page.until("location.hash === '#/sessions?after=0x2710' && document.querySelector('#main tbody code')?.innerText === '0x2710'")
        page.go("#/sessions?gnb=192.0.2.1")
        page.until_text("2 sessions on this page; the UPF has 1\u202f000\u202f000.")
        page.until_text("Not all sessions have been compared")
        page.value("[...document.querySelectorAll('#main button')].find((one) => one.innerText === 'Search further').click()")
        page.until_text("4 sessions on this page")

    # Input:  a session with traffic.
    # Output: the graph has each of its rules and what leads to them; counters grow; the trace shows the packets that are sent while
    #         it runs, with their rules, and stops.
    def test_session(self):
        seid = api(f"sessions?ue={UE}")["sessions"][0]["seid"]
        session = api(f"sessions/{seid}")
        page = self.open(f"#/sessions/{seid}")
        page.until("document.querySelector('a.box.pdr')")
        boxes = page.value("[...document.querySelectorAll('a.box .head')].map((one) => one.textContent)")
        rules = [f"{kind.upper()} {rule['id']}" for kind in ("pdr", "far", "qer", "urr", "bar") for rule in session[f"{kind}s"]]
        self.assertEqual(sorted(boxes), sorted(rules))
        for kind in ("far", "qer", "urr"):
            wanted = sum(len(pdr[f"{kind}s"]) if kind != "far" else 1 for pdr in session["pdrs"])
            self.assertEqual(page.value(f"document.querySelectorAll('.edge.{kind}').length"), wanted, kind)
        page.click("#trace-start")
        page.until_text("Running: packets appear as they pass.")
        sender = ping(12)
        self.addCleanup(sender.wait)
        page.until("document.querySelectorAll('.trace tbody tr').length >= 24")
        self.assertRegex(page.text(".trace tbody tr"), r"PDR \d, FAR \d, QER 1 within MBR, URR 1")
        page.click(".trace tbody button")
        page.until_text("matches", ".trace .details")
        page.until("document.querySelector('.charts path.line[d*=L]')")
        self.pictures(page, "session")
        page.click("#trace-stop")
        page.until_text("Stopped.")
        grown = api(f"sessions/{seid}")["state"]["usage"][0]["total"]
        self.assertGreater(grown["uplink_octets"], session["state"]["usage"][0]["total"]["uplink_octets"])
        # A session that is not there.
        page.go("#/sessions/0x1234")
        page.until("document.querySelector('.problem')")
        self.assertIn("no session has the SEID 0x1234", page.text(".problem"))
        self.assertEqual({status for status, _ in page.refused}, {404})

    # Input:  a capture, which ends when the operator says so. A UPF without captures shows no button; what comes then is made up here.
    # Output: a file with what has come.
    def test_capture(self):
        seid = api(f"sessions?ue={UE}")["sessions"][0]["seid"]
        description = api("openapi.json")
        is_real = CAPTURE in description["paths"]
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        page = self.open(f"#/sessions/{seid}")
        page.download_into(folder.name)
        if not is_real:
            page.until("document.querySelector('a.box.pdr')")
            self.assertFalse(page.value("document.querySelector('#capture') !== null"))
            description["paths"][CAPTURE] = {}
            made_up = lambda address: description if address.endswith("openapi.json") else PCAPNG
            page.answer_instead(made_up, "*/openapi.json", "*/capture?*")
            page.call("Page.reload")
        page.click("#capture")
        if is_real:
            self.addCleanup(ping(5).wait)
            page.until("document.querySelector('#capture').innerText.startsWith('End capture (')")
            page.until("Number.parseFloat(document.querySelector('#capture').innerText.slice(13)) > 0")
            page.click("#capture")
        file = Path(folder.name, f"session-{seid}.pcapng")
        page.until("document.querySelector('#capture')?.innerText === 'Capture to a file'")
        wait_for(file.exists, file.name)
        self.assertEqual(file.read_bytes()[:4], PCAPNG[:4])

    # Input:  the demo's network.
    # Output: its SMF, gNBs, interfaces and data network, each drawn and in a table.
    def test_topology(self):
        page = self.open("#/topology")
        page.until("document.querySelectorAll('.diagram .box').length >= 7")
        drawn = page.value("[...document.querySelectorAll('.diagram .head')].map((one) => one.textContent)")
        for name in ("10.40.0.2", "10.30.1.2", "10.30.2.2", "N3 10.30.0.1", "N4 10.40.0.1", "N6 cw-internet", "internet", "UPF 10.40.0.1"):
            self.assertIn(name, drawn)
        text = page.text("main")
        for name in ("10.40.0.2:8805", "n3-10.30.0.1", "n6-cw-internet", "upf.gtpu.echo.interval is 0"):
            self.assertIn(name, text)
        page.until("/in [0-9.]+/.test(document.querySelector('.diagram').textContent)")
        self.pictures(page, "topology")

    # Input:  a UPF on the model of a P4 switch, and one without a switch.
    # Output: the page of the first has each table with its fill and its stages, and both partitions of each accounting table with
    #         what they are used for; the second has no link to it, and says why.
    def test_switch(self):
        self.start_upf(self.folder(), SWITCH_CONFIG, SWITCH, "switch-upf.log")
        page = self.open("#/switch", base=f"{SWITCH}/console/")
        page.until_text("profile hip4")
        page.until_text("in step with the UPF")
        self.assertFalse(page.value("document.getElementById('switch').hidden"))
        with urllib.request.urlopen(f"{SWITCH}/api/v1/switch", timeout=PATIENCE) as answer:
            known = json.load(answer)["switch"]
        self.assertIn("source_guard", [table["name"] for table in known["tables"]])
        text = page.text("main")
        for table in known["tables"]:
            self.assertIn(table["name"], text)
        for words in ("Before QoS enforcement", "After QoS enforcement", "takes new entries", "Stages of Tofino 1", "a model in the process"):
            self.assertIn(words, text)
        self.assertEqual([len(side["partitions"]) for side in known["accounting"]], [2, 2])
        self.assertGreaterEqual(page.value("document.querySelectorAll('main meter').length"), len(known["tables"]))
        self.pictures(page, "switch")
        without = self.open("#/switch")
        without.until_text("The data plane of this UPF is no P4 switch.")
        self.assertTrue(without.value("document.getElementById('switch').hidden"))

    # Input:  pings whose rate exceeds upf.hybrid.promote_at, then silence; on another data plane none.
    # Output: the rules of the UE are on the switch, each with its reason, as the API says; then all are in software. On another data plane
    #         there is no such page in the list, and the page says why.
    def test_placement(self):
        page = self.open("#/placement")
        is_hybrid = api("status")["data_plane"] == "hybrid"
        self.assertEqual(DATAPLANE == "hybrid", is_hybrid)
        if not is_hybrid:
            page.until("document.querySelector('main').innerText.includes('upf.dataplane is not hybrid')")
            self.assertTrue(page.value("document.querySelector('#placement').hidden"))
            return
        page.until("document.querySelector('#placement:not([hidden]) a[aria-current=page]')")
        pings = ping(60000, 0.004, 1000, burst=100)
        self.addCleanup(pings.wait)
        self.addCleanup(pings.terminate)
        reason = "its rate reached promote_at"
        page.until(f"[...document.querySelectorAll('td')].filter((cell) => cell.innerText === '{reason}').length === 2")
        # Rates are those of the last second.
        expected = [("switch", [UE], reason)] * 2
        wait_for(lambda: [(rule["place"], rule["ue"], rule["why"]) for rule in api("placement")["listed"]] == expected
                 and api("placement")["switch_share"] > 0.5, "both rules are on the switch, with most packets")
        page.until("/[1-9]/.test(document.querySelector('.tile .value').innerText)")
        self.pictures(page, "placement")
        pings.terminate()
        page.until("document.querySelector('main').innerText.includes('All rules are at rest in the software.')")

    # Input:  parameters with markup, and with a script.
    # Output: they are text.
    def test_markup_is_text(self):
        page = self.open()
        markup = "<img src=x onerror=alert(1)><script>alert(2)</script>"
        page.value(f"void (location.hash = '#/sessions?' + new URLSearchParams({{ seid: {json.dumps(markup)} }}))")
        page.until("document.querySelector('.problem')")
        self.assertIn("<img src=x", page.text(".problem"))
        self.assertEqual(page.value("document.querySelectorAll('img, main script').length"), 0)

    # Input:  a UPF that asks for a token: a wrong one, the right one, the same tab again, a tab of its own.
    # Output: the console asks, says when it is wrong, works with the right one, holds it for the tab, and asks in another tab.
    def test_token(self):
        folder = self.folder()
        Path(folder, "token").write_text(TOKEN)
        self.start_upf(folder, CLOSED_CONFIG.format(folder=folder), CLOSED, "closed-upf.log")
        page = self.open(base=f"{CLOSED}/console/")
        page.until("document.activeElement.id === 'token'")
        page.screenshot(OUT / "token-light.png", whole=False)
        page.type("wrong-token-0123456789")
        page.key("Enter")
        page.until_text("does not accept this token", "dialog")
        page.until("document.activeElement.id === 'token'")
        page.type(TOKEN)
        page.key("Enter")
        page.until("document.querySelector('#link').innerText === 'live'")
        page.until_text("No SMF has an association.")
        # The stream of events has the token, too.
        page.until("document.querySelector('section[aria-labelledby=events-title] .state').innerText === 'live'")
        self.assertEqual({status for status, _ in page.refused}, {401})
        refused = len(page.refused)
        page.call("Page.reload")
        page.until("document.querySelector('#link')?.innerText === 'live'")
        self.assertEqual(len(page.refused), refused)
        page.click("#forget")
        page.until("document.activeElement.id === 'token'")
        page.key("Escape")
        page.until_text("Enter the token", "#link")
        self.assertIn("this needs the token", page.text("#link"))


class HeadersTest(unittest.TestCase):
    # Input:  the pages without a browser.
    # Output: the policy permits files of the UPF only, and the older pages are there.
    def test_pages(self):
        with urllib.request.urlopen(CONSOLE, timeout=PATIENCE) as answer:
            policy = answer.headers["content-security-policy"]
            self.assertTrue(policy.startswith("default-src 'self';"), policy)
            self.assertNotIn("unsafe", policy)
            text = answer.read().decode()
        self.assertIsNone(re.search(r"<script(?! type=\"module\" src=)|<style| style=| on[a-z]+=", text))
        for path, words in (("/", "/console/"), ("/api/v1", "openapi.json"), ("/console", "Causeway")):
            with urllib.request.urlopen(UPF + path, timeout=PATIENCE) as answer:
                self.assertIn(words, answer.read().decode(), path)


if __name__ == "__main__":
    unittest.main(verbosity=2)
