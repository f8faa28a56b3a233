"""Checks that each link of the site in DIR leads to a file, and to a place in it. Links to other sites are not tried."""

import html.parser
import pathlib
import sys
import urllib.parse

root = pathlib.Path(sys.argv[1]).resolve()


class Page(html.parser.HTMLParser):
    def __init__(self, file):
        super().__init__()
        self.ids, self.links = set(), []
        self.feed(file.read_text())

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id":
                self.ids.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


pages = {f: Page(f) for f in root.rglob("*.html") if f.name != "404.html"}
broken = []
for file, page in pages.items():
    for link in page.links:
        url = urllib.parse.urlsplit(link)
        if url.scheme or url.netloc or link.startswith("#__"):
            continue
        to = (file.parent / urllib.parse.unquote(url.path)).resolve() if url.path else file
        at = urllib.parse.unquote(url.fragment)
        if to.is_dir():
            to /= "index.html"
        if not to.exists() or at and to in pages and at not in pages[to].ids:
            broken.append(f"{file.relative_to(root)}: {link}")
print("\n".join(sorted(set(broken))))
print(f"{sum(len(p.links) for p in pages.values())} links on {len(pages)} pages, {len(set(broken))} of them broken")
sys.exit(bool(broken))
