"""Pages in a real Chromium, which must have nothing to complain of and load nothing from elsewhere.

Playwright is in an environment that scripts/setup --test makes; the browser is Debian's. A test that imports this goes
on in that environment. SCREENSHOTS names a folder to leave pictures in.
"""

import os
import shutil
import sys
import unittest

import test_environment

test_environment.enter()

from playwright.sync_api import Error, expect, sync_playwright

SKIPPED = 77
CHROMIUM = shutil.which("chromium")
PATIENCE = 120_000  # milliseconds, on a busy machine


class BrowserTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.playwright = sync_playwright().start()
        cls.addClassCleanup(cls.playwright.stop)
        cls.browser = cls.playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        cls.addClassCleanup(cls.browser.close)
        expect.set_options(timeout=PATIENCE)

    def setUp(self):
        self.complaints = []

    def tearDown(self):
        self.assertEqual(self.complaints, [])

    def open_page(self, port, path, **options):
        page = self.browser.new_page(**options)
        self.addCleanup(page.close)
        page.set_default_timeout(PATIENCE)
        page.on("console", self.listen)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        origin = f"http://127.0.0.1:{port}"
        page.on(
            "request",
            lambda request: (
                self.complaints.append(request.url)
                if not request.url.startswith((origin, "blob:", "data:"))
                else None
            ),
        )
        for _ in range(5):  # another interface that comes or goes interrupts what Chromium loads
            try:
                page.goto(origin + path)
            except Error:
                continue
            if page.evaluate("document.styleSheets.length > 0 && typeof element === 'function'"):
                break
        return page

    def listen(self, message):
        if message.type in ("error", "warning") and "ERR_NETWORK_CHANGED" not in message.text:
            self.complaints.append(message.text)

    def assert_needs_no_scrolling_sideways(self, page):
        widths = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        self.assertLessEqual(widths[0], widths[1])

    @staticmethod
    def picture_of(page, name):
        if folder := os.environ.get("SCREENSHOTS"):
            page.screenshot(path=f"{folder}/{name}.png", full_page=True)


def run_tests():
    if CHROMIUM is None:
        print("skipped: there is no chromium")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
