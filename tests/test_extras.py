"""Each extra alone is enough for what it is for, and without it one sentence says how to install it.

``nox -s extra`` runs this file with nothing but one extra installed, ``nox -s bare`` with none.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import urllib.request
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from support.engines import postgres_server, postgres_table, spark_session
from support.web_server import PATIENCE, serving

from nullproof import CountIndex, certify, poison

# The only ones that are tried where this names some.
ASKED = os.environ.get("NULLPROOF_EXTRAS")
FRAME = pl.DataFrame(
    {
        "town": ["Ulm", "Ulm", None, "Bonn", "Ulm", "Bonn"],
        "age": ["old", "old", "new", "new", None, "new"],
        "y": ["a", "a", "a", "b", "a", "b"],
    }
)
POINTS = FRAME.drop("y").drop_nulls().unique(maintain_order=True)
INDEX = CountIndex.from_table(FRAME, label="y")
MODULES = {
    "attack": "scipy",
    "dask": "distributed",
    "duckdb": "duckdb",
    "excel": "fastexcel",
    "sklearn": "sklearn",
    "spark": "pyspark",
    "sql": "ibis",
    "web": "fastapi",
    "zstd": "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd",
}


def attacked(folder: Path) -> None:
    attack = poison(INDEX, POINTS)
    assert attack.optimal
    assert attack.n_cells > 0


def from_dask(folder: Path) -> None:
    import pandas as pd

    frames: Any = importlib.import_module("dask.dataframe")
    frame = pd.DataFrame(FRAME.to_dict(as_series=False))
    assert CountIndex.from_table(frames.from_pandas(frame, npartitions=2), label="y") == INDEX


def from_duckdb(folder: Path) -> None:
    import duckdb

    FRAME.write_parquet(folder / "part.parquet")
    table = duckdb.read_parquet(str(folder / "*.parquet"))
    assert CountIndex.from_table(table, label="y") == INDEX
    assert CountIndex.from_table(str(folder / "*.parquet"), label="y") == INDEX


def from_excel(folder: Path) -> None:
    FRAME.write_excel(folder / "table.xlsx")
    assert CountIndex.from_table(folder / "table.xlsx", label="y") == INDEX


def fitted(folder: Path) -> None:
    from nullproof import CertifiedNB

    model = CertifiedNB().fit(FRAME.drop("y"), FRAME["y"])
    assert [*model.certify(POINTS).certain] == [*certify(INDEX, POINTS).certain]


def from_spark(folder: Path) -> None:
    FRAME.write_parquet(folder / "part.parquet")
    with spark_session() as session:
        table = session.read.parquet(str(folder / "part.parquet"))
        assert CountIndex.from_table(table, label="y") == INDEX


def from_postgres(folder: Path) -> None:
    with postgres_server() as connection:
        table = postgres_table(connection, FRAME)
        assert CountIndex.from_table(table, label="y") == INDEX


def served(folder: Path) -> None:
    with serving(folder) as server, urllib.request.urlopen(server.url, timeout=PATIENCE) as page:
        assert "nullproof" in page.read().decode()


def from_zstd(folder: Path) -> None:
    zstd = pytest.importorskip(MODULES["zstd"])
    (folder / "table.csv.zst").write_bytes(zstd.compress(FRAME.write_csv().encode()))
    assert CountIndex.from_table(folder / "table.csv.zst", label="y") == INDEX


USES: dict[str, Callable[[Path], None]] = {
    "attack": attacked,
    "dask": from_dask,
    "duckdb": from_duckdb,
    "excel": from_excel,
    "sklearn": fitted,
    "spark": from_spark,
    "sql": from_postgres,
    "web": served,
    "zstd": from_zstd,
}
# They take seconds to start; a plain check tries them in folders of their own, among all libraries.
DEAR = ("dask", "sklearn", "spark", "sql", "web")


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize(
    "extra", [one for one in USES if one not in DEAR] if ASKED is None else ASKED.split()
)
def test_an_extra_is_enough(extra: str, tmp_path: Path) -> None:
    """What an extra is for works with its own libraries, and gives the answer of the table in memory."""
    USES[extra](tmp_path)


LACKING = """
import json, sys, warnings
sys.modules.update(dict.fromkeys(sys.argv[1].split()))
sys.argv[:] = ["nullproof", "serve"]
import nullproof
from nullproof.__main__ import main

index = nullproof.CountIndex.from_rows([("a", "x"), ("b", "y")], ["yes", "no"])

def joint():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        nullproof.poison(index, [("a", "x"), ("b", "y")])
    raise ImportError(*(one.message for one in told))

asked = {
    "attack": joint,
    "duckdb": lambda: nullproof.CountIndex.from_table("*.parquet", label="y"),
    "excel": lambda: nullproof.CountIndex.from_table("table.xlsx", label="y"),
    "sklearn": lambda: nullproof.CertifiedNB,
    "web": main,
    "zstd": lambda: nullproof.CountIndex.from_table("table.csv.zst", label="y"),
}
told = {}
for extra, ask in asked.items():
    try:
        ask()
    except ImportError as problem:
        told[extra] = str(problem)
    except SystemExit as end:
        assert end.code == 2
print(json.dumps(told))
"""


@pytest.mark.slow
def test_a_lacking_extra_is_told(tmp_path: Path) -> None:
    """Without any extra each question that needs one gets its install line, and all else still works."""
    with zipfile.ZipFile(tmp_path / "table.xlsx", "w") as book:
        book.writestr("xl/workbook.xml", "")
    (tmp_path / "table.csv.zst").write_bytes(b"\x28\xb5\x2f\xfd")
    FRAME.write_parquet(tmp_path / "part.parquet")
    lacking = " ".join({*MODULES.values(), "uvicorn", "pandas", "pyarrow"})
    done = subprocess.run(
        [sys.executable, "-c", LACKING, lacking],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = {**json.loads(done.stdout), "web": done.stderr}
    assert {*told} == {"attack", "duckdb", "excel", "sklearn", "web", "zstd"}
    for extra, message in told.items():
        assert f'pip install "nullproof[{extra}]"' in message
        assert "Traceback" not in message
