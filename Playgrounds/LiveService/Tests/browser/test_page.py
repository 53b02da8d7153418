"""Tests of the page in Chromium. Use `run`, which builds the service first."""

import argparse
import json
import os
import random
import sys
import tempfile
import unittest

import picture
from chromium import Chromium
from service import Service, make_rows

LIVE = "document.getElementById('connection').textContent === 'Live'"
COUNT = "document.getElementById('count').textContent"
STATE = "document.getElementById('connection').dataset.state"

# The row at the top of the window: its name, and its distance from the head of the table.
TOP_ROW = """(() => {
    const head = document.getElementById('head').getBoundingClientRect().bottom;
    const rows = [...document.querySelectorAll('.row')]
        .map((row) => [row.children[2].textContent, row.getBoundingClientRect()])
        .filter(([, box]) => box.bottom > head).sort((a, b) => a[1].top - b[1].top);
    return rows.length > 0 ? [rows[0][0], Math.round(rows[0][1].top - head)] : null;
})()"""


def row(name):
    """Returns an expression for the element of a row that is in the window."""
    return f"[...document.querySelectorAll('.row')].find((row) => row.children[2].textContent === '{name}')"


def mark(name):
    return f"{row(name)}?.dataset.mark"


PICTURE = os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "../../../../Sources/Swappable/Swappable.docc/Resources/browser-list.svg")

# The rows of the picture, before and after the swap.
PACKAGES = [
    {"id": number, "name": name, "version": version, "description": description}
    for number, name, version, description in [
        (101, "bash", "5.2.15", "GNU Bourne Again shell"),
        (102, "curl", "7.88.1", "transfers data by URLs"),
        (103, "git", "2.39.5", "distributed revision control"),
        (104, "nano", "7.2", "small, friendly text editor"),
        (105, "sqlite3", "3.40.1", "database in a file"),
        (106, "vim", "9.0.1378", "Vi improved, a text editor"),
    ]
]
UPDATED_PACKAGES = [
    PACKAGES[5], *PACKAGES[:2], {**PACKAGES[2], "version": "2.47.3"}, PACKAGES[4],
    {"id": 107, "name": "zsh", "version": "5.9", "description": "shell with many features"},
]


class PageTests(unittest.TestCase):
    program = ""
    screenshots = None

    @classmethod
    def setUpClass(cls):
        cls.browser = cls.enterClassContext(Chromium())

    def setUp(self):
        self.browser.errors.clear()

    def tearDown(self):
        self.assertEqual(self.browser.errors, [])

    def serve(self, rows, updated=None, options=()):
        return self.enterContext(Service(self.program, rows, updated, options))

    def open(self, service, **options):
        """Opens the page and waits until it is live and shows its rows."""
        page = self.browser.open(service.address, **options)
        self.addCleanup(page.close)
        page.wait(f"{LIVE} && !view.isScheduled")
        return page

    def shoot(self, page, name):
        if self.screenshots:
            page.screenshot(os.path.join(self.screenshots, f"{name}.png"))

    def test_01_loads_and_follows_a_large_list(self):
        service = self.serve(make_rows(63_436))
        page = self.open(service)
        self.assertEqual(page.value(COUNT), "63,436 rows")
        page.wait_for("document.getElementById('scroller').getAttribute('aria-rowcount')", "63437")
        self.assertLess(page.value("document.querySelectorAll('.row').length"), 60)
        page.wait_for(TOP_ROW, ["package-1", 0])
        loaded = page.value("performance.getEntriesByName('initial')[0].startTime")
        folded = page.value("performance.getEntriesByName('initial')[0].duration")
        print(f"\n63,436 rows: received after {loaded:.0f} ms, parsed, folded and shown in {folded:.0f} ms")
        self.shoot(page, "large")

        # One row in the middle, and then 500 rows before the row at the top of the window.
        page.value("document.getElementById('scroller').scrollTop = 32 * 40000 + 11")
        page.wait(f"{TOP_ROW}?.[0] === 'package-40001'")
        page.wait_for(TOP_ROW, ["package-40001", -11])
        service.rows[40_005]["version"] = "9.9"
        service.save()
        page.wait(f"{mark('package-40006')} === 'updated'")
        self.shoot(page, "updated")
        self.report_change(page, "1 updated")
        new = [{**entry, "id": -entry["id"], "name": f"new-{entry['id']}"} for entry in make_rows(500)]
        service.rows[100:100] = new
        service.save()
        page.wait(f"{COUNT} === '63,936 rows'")
        page.wait_for(TOP_ROW, ["package-40001", -11])
        self.report_change(page, "500 inserted")

        # Rows are found in the whole list.
        page.click("#search")
        page.type("NEW-49 games")
        page.wait(f"{COUNT} === '2 of 63,936 rows'")
        self.shoot(page, "search")
        page.press("Escape")
        page.wait(f"{COUNT} === '63,936 rows'")

        # Everything moves: the list is reversed. The page follows.
        service.rows.reverse()
        service.save()
        page.wait("document.getElementById('summary').textContent.includes('moved')")
        self.report_change(page, "reversed")
        page.value("document.getElementById('scroller').scrollTop = 0")
        page.wait(f"{TOP_ROW}?.[0] === 'package-63436'")
        memory = page.value("performance.memory.usedJSHeapSize") / 2**20
        print(f"memory: page {memory:.0f} MiB, service {service.memory():.0f} MiB (debug build)")

    def report_change(self, page, what):
        duration = page.value("performance.getEntriesByName('change').at(-1).duration")
        print(f"63,436 rows, {what}: parsed, folded and shown in {duration:.1f} ms")

    def test_02_marks_what_changed(self):
        service = self.serve(make_rows(2000))
        page = self.open(service)
        service.rows[2]["version"] = "9.9"
        del service.rows[4]
        service.rows.insert(6, {**service.rows[6], "id": 5000, "name": "fresh"})
        service.rows.insert(9, service.rows.pop(1500))
        service.save()
        marks = ", ".join(f"{mark(name)} ?? ''" for name in ("package-1", "fresh", "package-3", "package-1501"))
        fades = ", ".join(f"{row('package-3')}?.children[{cell}].getAnimations().length" for cell in (3, 4))
        page.wait_for(f"[{marks}, {fades}]", ["", "inserted", "updated", "moved", 1, 0])
        summary = page.value("document.getElementById('summary').textContent")
        for part in ("+ 1 inserted", "− 1 deleted", "~ 1 updated", "↕ 1 moved"):
            self.assertIn(part, summary)
        self.shoot(page, "changes")
        # The marks fade.
        page.wait("document.querySelector('[data-mark]') === null")
        page.wait("document.getAnimations().length === 0")

    def test_02_names_of_the_prototype_are_ordinary_names(self):
        names = ["toString", "__proto__", "constructor", "hasOwnProperty", "valueOf"]
        rows = [{"id": 1, **{name: f"own {name}" for name in names}}, {"id": 2, "name": "lacks all"}]
        service = self.serve(rows)
        page = self.open(service)
        # The cells of the second row: the sign, the key, one for each name, and `name`.
        cells = "[...document.querySelectorAll('.row')].map((row) => [...row.children].map((cell) => cell.textContent).slice(1))"
        page.wait_for(cells, [["1", *(f"own {name}" for name in names), ""], ["2", *("" for _ in names), "lacks all"]])
        page.click(".row:nth-child(1)")
        page.wait_for("document.getElementById('details-title').textContent", "1")
        # A member that appears had no value before, and one that disappears leaves nothing behind.
        service.rows[0] = {"id": 1, "name": "lacks all, too"}
        service.rows[1] = {"id": 2, **{name: f"new {name}" for name in names}}
        service.save()
        # The values that an element has from the prototype would be the same before and after, and no cell would be marked.
        fades = "[...document.querySelectorAll('.row')].map((row) => [...row.children].slice(1).map((cell) => cell.getAnimations().length))"
        page.wait_for(f"[...{cells}, ...{fades}]", [
            ["1", *("" for _ in names), "lacks all, too"], ["2", *(f"new {name}" for name in names), ""],
            [0, 1, 1, 1, 1, 1, 1], [0, 1, 1, 1, 1, 1, 1]])
        page.click(".row:nth-child(2)")
        page.wait_for(
            "[...document.querySelectorAll('#details-members del')].filter((old) => old.textContent === '–').length", len(names))
        page.value("scroller.dispatchEvent(new KeyboardEvent('keydown', { key: 'toString' }))")
        page.wait_for("selectedOffset()", 1)

    def test_02_a_key_may_have_a_name_of_the_prototype(self):
        for key in ["__proto__", "constructor"]:
            rows = [{key: number, "n": 0} for number in range(5)]
            service = self.serve(rows, options=("--key", f"packages:{key}"))
            page = self.open(service)
            page.value("list.rows.forEach((row, index) => { row.first = index; })")
            # The page loses its token, and finds the difference by key: all rows stay the same.
            page.value("list.token = null; feed.interrupt()")
            service.rows[3]["n"] = 7
            service.rows.reverse()
            service.save()
            page.wait_for("list.rows.map((row) => row.first)", [4, 3, 2, 1, 0])
            page.wait_for("view.columns[0].name", key)

    def test_03_shows_new_rows_at_the_top(self):
        service = self.serve(make_rows(200))
        page = self.open(service)
        service.rows.insert(0, {**service.rows[0], "id": 5000, "name": "fresh"})
        service.save()
        page.wait(f"{TOP_ROW}?.[0] === 'fresh'")

    def test_04_keeps_the_place_when_the_top_row_is_deleted_or_moved(self):
        service = self.serve(make_rows(2000))
        page = self.open(service)
        page.value("document.getElementById('scroller').scrollTop = 32 * 1000")
        page.wait(f"{TOP_ROW}?.[0] === 'package-1001'")
        del service.rows[1000]
        service.rows.insert(0, service.rows.pop(1000))
        service.save()
        page.wait(f"{COUNT} === '1,999 rows'")
        # The third row stays where it was, below the two that are gone.
        page.wait(f"Math.round({row('package-1003')}.getBoundingClientRect().top"
                  " - document.getElementById('head').getBoundingClientRect().bottom) === 64")

    def test_05_swaps_the_source_on_every_page(self):
        rows = make_rows(2000)
        updated = [{**entry, "version": "2.0"} if entry["id"] % 7 == 0 else entry for entry in rows[5:]]
        service = self.serve(rows, updated)
        page, other = self.open(service), self.open(service)
        page.wait_for("document.querySelector('#sources [aria-pressed=true]').textContent", "original")
        page.click("#sources button:last-child")
        for one in (page, other):
            one.wait(f"{COUNT} === '1,995 rows'")
            one.wait("document.querySelector('#sources [aria-pressed=true]')?.textContent === 'updated'")
            summary = one.value("document.getElementById('summary').textContent")
            self.assertIn("− 5 deleted", summary)
            self.assertIn("~ 285 updated", summary)
        self.shoot(page, "swapped")
        other.click("#sources button:first-child")
        page.wait(f"{COUNT} === '2,000 rows'")

    def test_06_says_why_a_swap_fails(self):
        service = self.serve(make_rows(20))
        os.remove(service.path("updated.json"))
        page = self.open(service)
        page.click("#sources button:last-child")
        page.wait("document.getElementById('notice-text').textContent.includes('updated.json')")
        self.assertEqual(page.value(COUNT), "20 rows")
        page.wait_for("document.querySelector('#sources [aria-pressed=true]').textContent", "original")

    def test_07_survives_the_restart_of_the_service(self):
        service = self.serve(make_rows(2000))
        page = self.open(service)
        page.value("document.getElementById('scroller').scrollTop = 32 * 1000 + 5")
        page.wait(f"{TOP_ROW}?.[0] === 'package-1001'")
        page.value(f"{row('package-1010')}.dispatchEvent(new MouseEvent('click', {{ bubbles: true }}))")
        page.wait("!document.getElementById('details').hidden")
        page.value(f"window.kept = {row('package-1003')}")
        service.kill()
        page.wait(f"{STATE} === 'reconnecting'")
        self.shoot(page, "reconnecting")
        self.assertEqual(page.value(COUNT), "2,000 rows")
        service.rows[1004]["version"] = "9.9"
        service.rows.insert(0, {**service.rows[0], "id": 5000, "name": "fresh"})
        service.save()
        service.start()
        page.wait(f"{LIVE} && {COUNT} === '2,001 rows'")
        # Only the difference is shown: the rows, the place and the selection stay.
        page.wait_for(f"[{mark('package-1005')}, document.querySelectorAll('[data-mark]').length]", ["updated", 1])
        page.wait_for(TOP_ROW, ["package-1001", -5])
        self.assertTrue(page.value(f"window.kept === {row('package-1003')}"))
        page.wait_for(f"{row('package-1010')}.getAttribute('aria-selected')", "true")

        # If the contents are the same after the restart, they are not sent again.
        received = "performance.getEntriesByName('initial')[0].startTime"
        before = page.value(received)
        service.kill()
        page.wait(f"{STATE} === 'reconnecting'")
        service.start()
        page.wait(LIVE)
        service.rows[1006]["version"] = "9.9"
        service.save()
        page.wait_for(mark("package-1006"), "updated")
        self.assertEqual(page.value(received), before)

    def test_08_survives_being_offline(self):
        service = self.serve(make_rows(2000))
        page = self.open(service)
        page.set_offline(True)
        page.wait(f"{STATE} === 'offline'")
        self.shoot(page, "offline")
        service.rows[3]["version"] = "9.9"
        service.save()
        page.set_offline(False)
        page.wait(f"{LIVE} && {row('package-4')}.children[3].textContent === '9.9'")
        page.wait_for(mark("package-4"), "updated")

    def test_09_waits_for_a_free_stream(self):
        service = self.serve(make_rows(20), options=["--max-streams", "1"])
        first = self.open(service)
        second = self.browser.open(service.address)
        self.addCleanup(second.close)
        second.wait(f"{STATE} === 'busy'")
        # The contents are there. Only the events are missing.
        self.assertEqual(second.value(COUNT), "20 rows")
        self.assertIn("limit", second.value("document.getElementById('notice-text').textContent"))
        self.shoot(second, "busy")
        first.go("about:blank")
        second.wait(LIVE)
        self.assertTrue(second.value("document.getElementById('notice').hidden"))

    def test_10_shows_that_the_source_has_failed(self):
        service = self.serve(make_rows(20))
        page = self.open(service)
        service.write('[{"id": 1}, oops')
        page.wait("document.getElementById('connection').textContent === 'Source failed'")
        self.assertIn("original.json", page.value("document.getElementById('notice-text').textContent"))
        self.assertEqual(page.value(COUNT), "20 rows")
        self.shoot(page, "failed")
        # A page that is opened now sees the same.
        late = self.browser.open(service.address)
        self.addCleanup(late.close)
        late.wait("document.getElementById('connection').textContent === 'Source failed'")
        late.wait(f"{COUNT} === '20 rows'")
        service.save()
        for one in (page, late):
            one.wait(LIVE)
            self.assertTrue(one.value("document.getElementById('notice').hidden"))

    def test_11_asks_for_a_token(self):
        with open(os.path.join(self.enterContext(tempfile.TemporaryDirectory()), "tokens"), "w") as file:
            file.write("one\nsecret\n")
        service = self.serve(make_rows(20), options=["--bearer-token-file", file.name])
        page = self.browser.open(service.address)
        self.addCleanup(page.close)
        page.wait("document.getElementById('sign-in').open")
        self.shoot(page, "sign-in")
        page.type("wrong")
        page.press("Enter", "\r")
        page.wait("document.getElementById('sign-in').open"
                  " && document.getElementById('sign-in-text').textContent.includes('does not accept')")
        page.type("secret")
        page.press("Enter", "\r")
        page.wait(LIVE)
        self.assertEqual(page.value(COUNT), "20 rows")

    def test_12_is_used_with_the_keyboard(self):
        service = self.serve(make_rows(2000))
        page = self.open(service)
        selected = "document.querySelector('.row[aria-selected=true]')?.children[2].textContent"
        active = "document.activeElement.id"
        page.press("/", "/")
        page.wait(f"{active} === 'search'")
        page.type("package-19")
        page.wait(f"{COUNT} === '111 of 2,000 rows'")
        page.press("ArrowDown")
        page.wait(f"{active} === 'scroller' && {selected} === 'package-19'")
        page.press("ArrowDown")
        page.wait(f"{selected} === 'package-190'")
        self.assertEqual(
            page.value("document.getElementById(document.getElementById('scroller')"
                       ".getAttribute('aria-activedescendant')).children[2].textContent"), "package-190")
        page.press("End")
        page.wait(f"{selected} === 'package-1999'")
        page.wait_for("document.getElementById('details-title').textContent", "1999")
        # The selection stays when its row changes, and when it is deleted.
        service.rows[1998]["version"] = "9.9"
        service.save()
        page.wait("document.getElementById('details-members').textContent.includes('9.9')")
        page.wait_for("document.querySelector('#details-members del').textContent", "1.10")
        page.wait_for(selected, "package-1999")
        self.shoot(page, "details")
        del service.rows[1998]
        service.save()
        page.wait("!document.getElementById('details-deleted').hidden")
        page.press("Escape")
        page.wait("document.getElementById('details').hidden")

    def test_13_finds_the_rows_of_the_last_change(self):
        service = self.serve(make_rows(2000))
        page = self.open(service)
        selected = "document.querySelector('.row[aria-selected=true]')?.children[2].textContent"
        for number in (1200, 700):
            service.rows[number - 1]["version"] = "9.9"
        service.save()
        page.wait("!document.getElementById('steps').hidden")
        page.click("#next")
        page.wait(f"{selected} === 'package-700'")
        page.click("#next")
        page.wait(f"{selected} === 'package-1200'")
        page.click("#previous")
        page.wait(f"{selected} === 'package-700'")

    def test_14_names_every_control(self):
        service = self.serve(make_rows(20))
        page = self.open(service, dark=True)
        page.click(".row")
        page.wait("!document.getElementById('details').hidden")
        nodes = page.send("Accessibility.getFullAXTree")["nodes"]
        controls = {"button", "link", "searchbox", "textbox", "grid", "columnheader", "dialog", "alert"}
        names = {}
        for node in nodes:
            role = node.get("role", {}).get("value")
            if not node["ignored"] and role in controls:
                names.setdefault(role, []).append(node.get("name", {}).get("value"))
        self.assertTrue(all(all(values) for values in names.values()), names)
        self.assertEqual(names["grid"], ["packages"])
        self.assertIn("Search the list", names["searchbox"])
        self.shoot(page, "dark")
        page.set_window(400, 760)
        self.shoot(page, "narrow")

    def test_15_shows_several_lists_and_values_without_members(self):
        service = self.serve(make_rows(3), options=["--list", "words=json:{folder}/words.json"])
        service.write('["one", "two", "three"]', "words.json")
        page = self.browser.open(service.address + "?list=words")
        self.addCleanup(page.close)
        values = ("[...document.querySelectorAll('.row')].map((row) =>"
                  " [row.children[1].textContent, row.dataset.mark ?? ''])")
        page.wait_for(values, [["one", ""], ["two", ""], ["three", ""]])
        service.write('["one", 2, "three"]', "words.json")
        page.wait_for(values, [["one", ""], ["2", "inserted"], ["three", ""]])
        page.click("#lists a:first-child")
        page.wait_for(COUNT, "3 rows")
        page.wait("document.getElementById('body').textContent.includes('package-1')")
        service.write("[]", "words.json")
        page.click("#lists a:last-child")
        page.wait_for("document.getElementById('empty').textContent", "The list is empty.")
        page.go(service.address + "?list=nothing")
        page.wait_for("document.getElementById('empty').textContent", "There is no such list.")
        self.assertIn("packages, words", page.value("document.getElementById('notice-text').textContent"))

    def test_16_agrees_with_the_file_after_random_edits(self):
        seed = int(os.environ.get("SEED", random.randrange(1 << 30)))
        print(f"\nseed {seed}")
        generator = random.Random(seed)
        service = self.serve(make_rows(300))
        page = self.open(service)
        rows = service.rows
        for step in range(60):
            for _ in range(generator.randrange(1, 12)):
                edit(rows, generator)
            if step % 20 == 7:
                generator.shuffle(rows)
            if step % 20 == 13:
                # The contents differ after the restart, so the page receives the whole list.
                service.kill()
                service.save()
                service.start()
            else:
                service.save()
            if step % 5 == 1:
                page.value("feed.interrupt()")
            # Some edits are composed with the next ones.
            if generator.random() < 0.5 or step == 59:
                expected = json.dumps(rows, separators=(",", ":"))
                page.wait_for("JSON.stringify(list.rows.map((row) => row.element))", expected)
                self.assertTrue(page.value("view.rows.every((row, offset) => row.offset === offset && !row.isDeleted)"))

    def test_17_serves_event_source(self):
        service = self.serve(make_rows(20))
        page = self.open(service)
        page.value("""(() => {
            window.received = [];
            window.source = new EventSource("lists/packages/events");
            source.onmessage = ({ data, lastEventId }) => received.push([JSON.parse(data).event, lastEventId]);
        })()""")
        page.wait("received.length === 1")
        service.kill()
        page.wait("source.readyState === EventSource.CONNECTING")
        service.start()
        # It resumes with its last token.
        page.wait_for("received.map(([event]) => event)", ["initial", "alive"])
        service.rows[0]["version"] = "9.9"
        service.save()
        page.wait_for("received.map(([event]) => event)", ["initial", "alive", "change"])
        self.assertEqual(page.value("received.filter(([, id]) => id === '').length"), 0)

    def test_18_is_shown_in_the_documentation(self):
        service = self.serve(PACKAGES, UPDATED_PACKAGES)
        width, height = 780, 374
        page = self.open(service, width=width, height=height)
        # Stop the clock, so the marks of the swap do not fade.
        page.value("""(() => {
            const now = performance.now();
            performance.now = () => now;
            Object.defineProperty(timeOfDay, "format", { value: () => "09:41:00" });
        })()""")
        page.click("#sources button:last-child")
        page.wait("document.querySelector('#sources [aria-pressed=true]')?.textContent === 'updated'")
        page.wait("document.querySelectorAll('[data-mark]').length === 3 && !view.isScheduled")
        page.value("""document.querySelectorAll("[data-mark]").forEach((row) => row.fades.forEach((fade) => {
            fade.pause();
            fade.currentTime = 0;
        }))""")
        drawn = picture.draw(page, "A list on a web page, after its source was swapped", width, height)
        if os.environ.get("SWAPPABLE_DRAW") == "1":
            with open(PICTURE, "w") as file:
                file.write(drawn)
        with open(PICTURE) as file:
            self.assertEqual(picture.texts(file.read()), picture.texts(drawn), "draw it again with SWAPPABLE_DRAW=1")


def edit(rows, generator):
    """Performs a random edit. Some rows have the same key."""
    kind = generator.randrange(5)
    at = generator.randrange(len(rows)) if rows else 0
    if kind == 0 or not rows:
        number = generator.randrange(1, 2000)
        rows.insert(at, {"id": number, "name": f"new-{number}", "version": str(generator.random())})
    elif kind == 1:
        del rows[at]
    elif kind == 2:
        rows.insert(generator.randrange(len(rows)), rows.pop(at))
    else:
        rows[at] = {**rows[at], "version": str(generator.random())}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--screenshots")
    options, rest = parser.parse_known_args()
    PageTests.program = options.program
    PageTests.screenshots = options.screenshots
    if options.screenshots:
        os.makedirs(options.screenshots, exist_ok=True)
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
