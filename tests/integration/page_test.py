#!/usr/bin/env python3
"""The page in a real Chromium: samples, upload, drawing, keyboard, a narrow screen, a clean console.

    page_test.py PROGRAM [ARGUMENTS OF unittest]
"""

import sys
import tempfile
from pathlib import Path

from browser import PATIENCE, BrowserTest, expect, run_tests
from serving import Server, dark_image, png, prepare

PROGRAM = sys.argv[1]


class PageTest(BrowserTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        temporary = tempfile.TemporaryDirectory(prefix="lockring page ")
        cls.addClassCleanup(temporary.cleanup)
        cls.root = Path(temporary.name)
        bundles = prepare(PROGRAM, cls.root)
        cls.picture = cls.root / "picture.png"
        cls.picture.write_bytes(png(dark_image(1)))
        cls.server = Server(
            PROGRAM, cls.root, *(f"{name}={bundle}" for name, bundle in zip(("first", "second"), bundles))
        )
        cls.server.__enter__()
        cls.addClassCleanup(cls.server.__exit__)

    def open(self, path="/", **options):
        return self.open_page(self.server.port, path, **options)

    def expect_answer(self, page, models=("ensemble", "first", "second")):
        for model in models:
            expect(page.locator("#answers h3", has_text=model)).to_have_count(1)
        expect(page.locator("#answers .bars li.first")).to_have_count(3)
        expect(page.locator("#verdict")).to_contain_text("%")
        shares = page.evaluate(
            """[...document.querySelectorAll('#answers .bars li')].map((row) => [
            parseFloat(row.querySelector('.share').textContent), parseFloat(row.querySelector('.fill').style.width)])"""
        )
        self.assertEqual(len(shares), 30)
        for text, width in shares:
            self.assertAlmostEqual(text, width, delta=0.06)

    def test_samples_are_answered_by_every_model(self):
        page = self.open()
        expect(page.locator("#samples button")).to_have_count(20)
        page.locator("#samples button").nth(3).click()
        self.expect_answer(page)
        expect(page.locator("#health")).to_contain_text("ready")
        expect(page.locator("#models tr")).to_have_count(3)
        expect(page.locator("#rate polyline")).to_have_count(3)
        self.picture_of(page, "sample")

    def test_a_picture_can_be_opened(self):
        page = self.open()
        page.set_input_files("#file", self.picture)
        self.expect_answer(page)
        expect(page.locator("#preview")).to_be_visible()
        page.click("#clear")
        expect(page.locator("#preview")).to_be_hidden()

    def test_drawing_is_answered(self):
        page = self.open()
        box = page.locator("#canvas").bounding_box()
        page.mouse.move(box["x"] + 60, box["y"] + 60)
        page.mouse.down()
        page.mouse.move(box["x"] + 200, box["y"] + 200, steps=8)
        page.mouse.up()
        self.expect_answer(page)
        self.picture_of(page, "drawn")

    def test_all_of_it_works_by_keyboard(self):
        page = self.open()
        page.focus("#canvas")
        page.keyboard.press("ArrowUp")
        page.keyboard.down(" ")
        for _ in range(5):
            page.keyboard.press("ArrowRight")
        page.keyboard.up(" ")
        self.expect_answer(page)
        page.keyboard.press("Delete")
        expect(page.locator("#samples button")).to_have_count(20)
        page.locator("#samples button").first.focus()
        page.keyboard.press("Enter")
        expect(page.locator("#preview")).to_be_visible()

    def test_a_narrow_screen_needs_no_scrolling_sideways(self):
        page = self.open(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
        page.locator("#samples button").nth(5).tap()
        self.expect_answer(page)
        self.assert_needs_no_scrolling_sideways(page)
        self.picture_of(page, "narrow")

    def test_what_is_no_picture_is_said(self):
        page = self.open()
        wrong = self.root / "wrong.png"
        wrong.write_bytes(b"no picture")
        page.set_input_files("#file", wrong)
        expect(page.locator("#verdict.bad")).to_contain_text("image")
        expected = [text for text in self.complaints if "400" in text]  # Chromium itself reports the status
        self.assertEqual(self.complaints, expected)
        self.complaints.clear()

    def test_the_documentation_lists_paths_and_models(self):
        page = self.open("/docs")
        expect(page.locator("#models .endpoint")).to_have_count(3)
        expect(page.locator("#paths code", has_text="/v2/models/{model}/infer")).to_have_count(1)
        expect(page.locator("#infer")).to_contain_text("curl")
        self.picture_of(page, "docs")

    def test_a_key_that_was_given_is_for_all_pages(self):
        key = self.root / "key"
        key.write_text("secret\n")
        bundle = next(iter(self.root.glob("**/best.safetensors")))
        with Server(PROGRAM, self.root, f"only={bundle}", "--api-key-file", key) as server:
            page = self.browser.new_page()
            self.addCleanup(page.close)
            page.set_default_timeout(PATIENCE)
            page.goto(f"http://127.0.0.1:{server.port}/")
            page.locator("#key").fill("secret")
            page.locator("#key-form button").click()
            expect(page.locator("#health")).to_contain_text("ready")
            page.goto(f"http://127.0.0.1:{server.port}/docs")
            expect(page.locator("#models")).to_contain_text("only")


if __name__ == "__main__":
    run_tests()
