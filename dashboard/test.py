"""Drives the dashboard in a browser: what it shows is right with and without filters, and looking at it costs nothing.
Takes the pictures of docs/dashboard.md into SUPERSET_HOME; with ACCEPT=1 in the environment also into docs/."""

import os
from math import comb
from pathlib import Path

import psycopg2
from PIL import Image
from playwright.sync_api import sync_playwright

HOME = Path(os.environ["SUPERSET_HOME"])
URL = os.environ["SUPERSET_URL"]
DOCS = Path(__file__).parent.parent / "docs"
CHARTS = 7
SECONDS = 120 * 1000


class Dashboard:
    def __init__(self, page):
        self.page = page
        self.answers = {}
        page.on("response", self.keep)
        page.goto(f"{URL}/login/", wait_until="commit")
        page.fill("input[data-test=username-input]", "admin")
        page.fill("input[data-test=password-input]", (HOME / "password").read_text().strip())
        page.click("button[type=submit]")
        page.wait_for_url(lambda url: "login" not in url, wait_until="commit")

    def keep(self, response):
        if "/api/v1/chart/data?" in response.url:
            self.answers[response.url] = response

    def open(self):
        self.answers.clear()
        self.page.goto(f"{URL}/superset/dashboard/flights/", wait_until="commit")
        self.page.wait_for_selector(".grid-container")
        self.settle(CHARTS)

    def settle(self, answers):
        """Until so many charts have asked, and nothing loads any more."""
        for _ in range(SECONDS // 500):
            self.page.wait_for_timeout(500)
            if len(self.answers) >= answers and not self.page.locator("[data-test=loading-indicator]").count():
                break
        else:
            raise TimeoutError(f"{len(self.answers)} of {answers} charts have answered")
        self.page.wait_for_timeout(1500)  # until the charts have been drawn
        self.data = {}
        for answer in self.answers.values():
            assert answer.status == 200, f"{answer.status}: {answer.text()}"
            title = self.title(answer.request.post_data_json["form_data"]["slice_id"])
            result, *_ = answer.json()["result"]
            assert result["error"] is None, f"{title}: {result['error']}"
            self.data[title] = result["data"]
        alerts = self.page.locator("[role=alert], .ant-alert-error").all_inner_texts()
        assert not alerts, alerts

    def title(self, chart):
        return self.page.locator(f"[data-test-chart-id='{chart}']").first.get_attribute("data-test-chart-name")

    def filter(self, airport=None, airline=None):
        """Only these. Departures are of all, and do not ask again."""
        self.answers.clear()
        if self.page.locator("[data-test=filter-bar__clear-button]").is_enabled():
            self.page.click("[data-test=filter-bar__clear-button]")
        for place, value in enumerate([airport, airline]):
            if value:
                box = self.page.locator("[data-test=form-item-value] .ant-select").nth(place)
                box.click()
                box.locator("input").fill(value)
                self.page.click(f".ant-select-item-option[title='{value}']")
                self.page.keyboard.press("Escape")
        self.page.click("[data-test=filter-bar__apply-button]")
        self.settle(CHARTS - 2)

    def number(self, title):
        text = self.page.locator(f"[data-test-chart-name='{title}'] .header-line").inner_text()
        return int(text.replace(",", ""))

    def picture(self, name, title=None, height=None):
        """Of the page, its top, or one chart. 128 colours are enough, and a quarter of the bytes."""
        path = HOME / f"dashboard-{name}.png"
        what = self.page.locator(f"[data-test-chart-name='{title}']").first if title else self.page
        self.page.evaluate("window.scrollTo(0, 0)")
        self.page.wait_for_timeout(1000)
        what.screenshot(path=path)
        picture = Image.open(path).convert("RGB")
        picture = picture.crop((0, 0, picture.width, height or picture.height))
        picture = picture.quantize(128, dither=Image.Dither.NONE)
        picture.save(path, optimize=True)
        if os.environ.get("ACCEPT"):
            picture.save(DOCS / path.name, optimize=True)


def check_numbers(dashboard, public):
    """All of them against public, the number of aircraft by airport and airline."""
    aircraft = sum(public.values())
    assert dashboard.number("Aircraft") == aircraft, (dashboard.number("Aircraft"), aircraft)

    airports = {airport for airport, _ in public}
    sizes = dashboard.data["Aircraft by number of flights"]
    for airport in airports:
        shown = sum(row[airport] or 0 for row in sizes)
        assert shown == sum(n for (at, _), n in public.items() if at == airport), (airport, shown)
    lower_ends = [int(row["size_band"].split("-")[0]) for row in sizes]
    assert lower_ends == sorted(lower_ends), lower_ends

    sunburst = dashboard.data["Flights by airport and airline"]
    assert {(row["origin"], row["carrier"]) for row in sunburst} == set(public)
    assert sum(row["flights"] for row in sunburst) == dashboard.number("Flights")

    regions = dashboard.data["Regions, with error bars"]
    leaves = {tuple(row["region"].split("/")): row["aircraft"] for row in regions if "/" in row["region"]}
    assert leaves == public, leaves
    for row in regions:
        for value in ("flights", "mean", "median", "p90"):
            assert row[f"{value}_low"] <= row[value] <= row[f"{value}_high"], row


def check_band(rows, truth, at_most):
    """As many rows as nine in ten hold the truth. Each day is measured by itself, so their errors are independent, and so
    are those of months: the number of rows that hold is binomial. It fails by chance once in five million, each way."""
    assert len(rows) == len(truth)
    held = sum(row["low"] <= exact <= row["high"] for row, exact in zip(rows, truth))

    def up_to(count, share):
        return sum(comb(len(rows), i) * share**i * (1 - share) ** (len(rows) - i) for i in range(count + 1))

    # Noise of whole numbers makes a band hold a little more often than it says, hence the other share for too often.
    assert up_to(held, 0.9) > 2e-7, f"too few: {held} of {len(rows)}"
    if at_most:
        assert 1 - up_to(held - 1, 0.92) > 2e-7, f"too many: {held} of {len(rows)}"
    return held


def departures(query, grain):
    return [n for n, in query(
        f"SELECT count(departure) FROM generate_series(timestamp '2013-01-01', '2013-12-31', '1 {grain}') AS start "
        f"LEFT JOIN flights ON departure >= start AND departure < start + interval '1 {grain}' GROUP BY start ORDER BY start"
    )]  # fmt: skip


def test(dashboard, query):
    (ledger,), = query("SELECT count(*) FROM dp.ledger")
    public = {(airport, airline): n for airport, airline, n in query(
        "SELECT origin, carrier, count(*) FROM aircraft GROUP BY origin, carrier"
    )}  # fmt: skip

    dashboard.open()
    check_numbers(dashboard, public)
    for grain in ("day", "month"):
        rows = sorted(dashboard.data[f"Departures by {grain}"], key=lambda row: row["lower_bound"])
        held = check_band(rows, departures(query, grain), at_most=grain == "day")
        print(f"departures by {grain}: {held} of {len(rows)} bands hold the truth")
    dashboard.picture("all")
    dashboard.picture("days", "Departures by day")

    for airport, airline in [("EWR", None), ("JFK", None), ("LGA", None), (None, "UA"), ("JFK", "DL")]:
        dashboard.filter(airport, airline)
        check_numbers(dashboard, {
            (at, by): n for (at, by), n in public.items() if airport in (None, at) and airline in (None, by)
        })  # fmt: skip
        print(f"filters {airport}, {airline}: no error, numbers are right")
        if airport == "LGA":
            dashboard.picture("lga", height=1142)
    # That airline is at another airport alone: nothing to show is no error.
    dashboard.filter("LGA", "HA")
    assert not dashboard.data["Regions, with error bars"]

    for _ in range(2):
        dashboard.open()
    (after,), = query("SELECT count(*) FROM dp.ledger")
    assert after == ledger, f"{after - ledger} charges for looking at the dashboard"
    print(f"two reloads and six filters: {ledger} charges in the ledger before and after")


if __name__ == "__main__":
    with psycopg2.connect("") as connection, connection.cursor() as cursor, sync_playwright() as playwright:
        def query(sql):
            cursor.execute(sql)
            return cursor.fetchall()

        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        context = browser.new_context(viewport={"width": 1500, "height": 2100})
        context.set_default_timeout(SECONDS)
        # Fonts and the like from elsewhere are not waited for.
        context.route("**/*", lambda route: route.continue_() if route.request.url.startswith(URL) else route.abort())
        test(Dashboard(context.new_page()), query)
        browser.close()
