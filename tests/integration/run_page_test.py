#!/usr/bin/env python3
"""The page of a workflow's run in a real Chromium: the graph, times, what was cached, what is served when.

    run_page_test.py PROGRAM [ARGUMENTS OF unittest]
"""

import random
import re
import sys
import tempfile
from pathlib import Path

from background import Background
from browser import BrowserTest, expect, run_tests
from small_data import write_split

PROGRAM = sys.argv[1]
STEPS = ("ingest", "cnn", "cnn_bn", "cnn_dropout", "select", "serve", "aggregate")


class RunPageTest(BrowserTest):
    def setUp(self):
        super().setUp()
        temporary = tempfile.TemporaryDirectory(prefix="lockring run page ")
        self.addCleanup(temporary.cleanup)
        self.root = Path(temporary.name)
        random.seed(1)
        (self.root / "source").mkdir()
        write_split(self.root / "source", "train", 400)
        write_split(self.root / "source", "t10k", 80)

    def serve(self):
        """Runs the shipped workflow until all has ended but the server, and returns its port."""
        file = Path(__file__).resolve().parents[2] / "workflows" / "fashion_mnist.yaml"
        settings = [f"--set={setting}" for setting in (f"source={self.root / 'source'}", "epochs=1", "ranks=1", "port=0")]
        run = Background(self, [PROGRAM, "workflow", "run", file, *settings, "--keep-serving"], cwd=self.root)
        run.wait_for_line("fashion_mnist-")
        self.assertIn(": all other steps have ended", run.printed()[1])
        self.run = run
        return int(re.search(r"serve: ready,.*?port (\d+)", run.printed()[1])[1])

    def end(self):
        self.run.terminate()
        self.run.communicate()

    def node(self, page, name):
        return page.locator(f'#graph [data-step="{name}"]')

    def test_shows_a_run_and_what_the_next_one_takes_from_the_cache(self):
        port = self.serve()
        page = self.open_page(port, "/run")
        expect(page.locator("#graph .step")).to_have_count(len(STEPS))
        expect(page.locator("#graph .edges path")).to_have_count(8)
        for name in STEPS:
            state = "ready" if name == "serve" else "succeeded"
            expect(self.node(page, name)).to_have_attribute("aria-label", re.compile(f"^{name}, {state}, [0-9.]+ m?s"))
        expect(page.locator("#health")).to_have_text("fashion_mnist-1, running")
        # What was served when: the first model alone at first, then those that came later.
        expect(page.locator("#step-title")).to_have_text("Story of serve")
        expect(page.locator("#events li", has_text="ready:")).not_to_have_count(0)
        expect(page.locator("#events li", has_text="first: cnn").first).to_be_visible()
        row = page.locator("#steps tr", has=page.locator("td", has_text=re.compile("^cnn_bn$")))
        expect(row).to_contain_text(re.compile(r"validation 0\.\d{4}; test 0\.\d{4}"))
        expect(page.locator("#steps tr", has_text="chosen")).to_have_count(1)
        self.picture_of(page, "run")
        dark = self.open_page(port, "/run", color_scheme="dark")
        expect(dark.locator("#graph .step")).to_have_count(len(STEPS))
        self.picture_of(dark, "run-dark")
        self.end()
        page.close()
        dark.close()
        self.complaints.clear()  # Chromium itself says that the server has gone
        page = self.open_page(self.serve(), "/run")
        for name in STEPS:
            expect(self.node(page, name)).to_have_attribute(
                "aria-label", re.compile(f"^{name}, {'ready' if name == 'serve' else 'cached'}"))
        expect(page.locator("#graph .cached")).to_have_count(6)
        self.picture_of(page, "run-cached")
        self.narrow_and_by_keyboard()

    def narrow_and_by_keyboard(self):
        port = int(re.search(r"serve: ready,.*?port (\d+)", self.run.printed()[1])[1])
        page = self.open_page(port, "/run", viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
        self.node(page, "cnn_dropout").tap()
        expect(page.locator("#step-title")).to_have_text("Story of cnn_dropout")
        self.assert_needs_no_scrolling_sideways(page)
        self.picture_of(page, "run-narrow")
        self.node(page, "ingest").focus()
        for key in ("ArrowDown", "ArrowRight", "Enter"):
            page.keyboard.press(key)
        expect(page.locator("#step-title")).to_have_text("Story of cnn_bn")
        expect(self.node(page, "cnn_bn")).to_be_focused()
        expect(self.node(page, "cnn_bn")).to_have_attribute("aria-pressed", "true")
        page.goto(f"http://127.0.0.1:{port}/")
        page.locator("#run").click()
        expect(page.locator("#graph .step")).to_have_count(len(STEPS))
        self.end()
        self.complaints.clear()


if __name__ == "__main__":
    run_tests()
