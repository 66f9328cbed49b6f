"""The documentation page of the HTTP service, in a real browser that can reach nothing but the service."""

import shutil
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect, sync_playwright
from serving import serving, within

from memory_pipeline.lake.tables import Lake
from memory_pipeline.service import auth_tokens
from memory_pipeline.service.auth_tokens import Role

BROWSER = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("docs") / "data"
    Lake(folder).close()
    return folder


def test_the_page_needs_no_token_and_allows_only_its_own_script(home):
    with within(home) as client:
        page, again = client.get("/docs"), client.get("/docs")
        assert client.get("/docs/x").status_code == 401
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "connect-src 'self'" in policy
    assert again.headers["content-security-policy"] != policy
    assert "{{nonce}}" not in page.text
    assert "://" not in page.text, "it loads nothing from elsewhere"


@pytest.mark.drill  # each push searches the pages in a browser: `test_web_pages.py`
@pytest.mark.skipif(BROWSER is None, reason="no browser; install one with `apt-get install chromium`, or Google Chrome")
def test_a_request_can_be_tried_with_a_token_and_without_network(home):
    token, _ = auth_tokens.create(home, Role.AGENT, profile_id="ana")
    asked, problems = [], []
    with serving(home) as client, sync_playwright() as playwright:
        local = urlsplit(str(client.base_url)).netloc
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)

        def only_local(route):
            asked.append(route.request.url)
            _ = route.continue_() if urlsplit(route.request.url).netloc == local else route.abort()

        page.route("**/*", only_local)
        page.goto(f"{client.base_url}/docs")
        paths = client.get("/openapi.json").json()["paths"]
        expect(page.locator("main details")).to_have_count(sum(len(methods) for methods in paths.values()))
        assert problems == []
        store = page.locator("details", has=page.locator("summary", has_text="POST/memories ")).first
        store.locator("summary").click()
        expect(store.get_by_role("cell", name="text", exact=True)).to_be_visible()
        store.get_by_label("body").fill('{"text": "The launch is on 12 June."}')
        store.get_by_role("button", name="Send").click()
        expect(store.locator("pre")).to_contain_text("401")
        page.get_by_label("Bearer token").fill(token)
        store.get_by_role("button", name="Send").click()
        expect(store.locator("pre")).to_contain_text("201")
        browser.close()
    assert {urlsplit(url).netloc for url in asked} == {local}
    with Lake(home) as lake:
        assert lake.events()["content"].to_list() == ["The launch is on 12 June."]
