"""Take the pictures of docs/report.md and docs/web.md in Chromium: python scripts/screenshots.py"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.browser import chromium
from support.web_server import serving

ROOT = Path(__file__).parent.parent
FIGURES, DEMO = ROOT / "docs/figures", ROOT / "src/nullproof/demo"
COMMAND = "report customers.csv new_customers.csv --label churn --key customer -q -o"
WIDTH = 1000


def main() -> None:
    """Write the start of the demo's report, and of the page."""
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder)) as server,
        chromium() as browser,
    ):
        file = Path(folder) / "report.html"
        command = [sys.executable, "-m", "nullproof", *COMMAND.split(), str(file)]
        subprocess.run(command, cwd=DEMO, check=True)
        shots = (("report.png", file.as_uri(), 680), ("web_start.png", server.url, 480))
        for name, address, height in shots:
            page = browser.new_page(viewport={"width": WIDTH, "height": height})
            page.goto(address)
            page.screenshot(path=FIGURES / name)
            page.close()


if __name__ == "__main__":
    main()
