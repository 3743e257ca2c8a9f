"""The sample databases that ship as definitions: `python -m agro_data.populate.samples FOLDER` builds them."""

from __future__ import annotations

import argparse
import json
import sys
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import yaml

from agro_data.files import write_text
from agro_data.hashing import file_hash
from agro_data.populate.domain import Domain, domain_names, load_domain
from agro_data.populate.writer import write_duckdb, write_sqlite

RECEIPT = ".samples.json"
SEED = 7


def build_samples(folder: Path) -> list[Path]:
    """Write every domain into `folder` as `<db_id>.sqlite` or `.duckdb` with `<db_id>.semantics.yml` beside it.

    A database that is there and was made from the same definitions and code is kept. Returns the database files,
    sorted by name.
    """
    return [build_sample(name, folder)[0] for name in domain_names()]


def build_sample(name: str, folder: Path, seed: int = SEED) -> tuple[Path, bool]:
    """One sample database: its path, and whether it was written now (False: the one there was right)."""
    return build_domain(load_domain(name), folder, seed)


def build_domain(domain: Domain, folder: Path, seed: int) -> tuple[Path, bool]:
    """The database of any domain, as `build_sample` makes those that are shipped."""
    name = domain.name
    path = folder / f"{name}.{domain.engine}"
    notes = folder / f"{name}.semantics.yml"
    receipt = folder / RECEIPT
    done = json.loads(receipt.read_text()) if receipt.exists() else {}
    text = yaml.safe_dump(dict(domain.semantics), sort_keys=False, allow_unicode=True, width=110)
    if not notes.exists() or notes.read_text(encoding="utf-8") != text:
        folder.mkdir(parents=True, exist_ok=True)
        write_text(notes, text)
    wanted = _fingerprint(domain, seed)
    if done.get(name, {}).get("fingerprint") == wanted and path.exists() and done[name]["sha256"] == file_hash(path):
        return path, False
    write = write_sqlite if domain.engine == "sqlite" else write_duckdb
    write(domain.schema, domain.rows(seed), path)
    done[name] = {"fingerprint": wanted, "sha256": file_hash(path)}
    write_text(receipt, json.dumps(done, indent=1, sort_keys=True) + "\n")
    return path, True


def _fingerprint(domain: Domain, seed: int) -> str:
    """Hash of all that decides the content: definitions, seed, this package's code, and the names' source."""
    code = "".join(path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parent.glob("*.py")))
    return sha256("\x1f".join((domain.source, str(seed), code, version("faker"))).encode()).hexdigest()


def main(arguments: list[str] | None = None) -> int:
    """Command line: build the samples into a folder, one line for each database."""
    parser = argparse.ArgumentParser(prog="python -m agro_data.populate.samples", description=main.__doc__)
    parser.add_argument("folder", type=Path, help="where the databases go, e.g. datasets/samples")
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args(arguments)
    for name in domain_names():
        path, written = build_domain(load_domain(name), options.folder, options.seed)
        tables = len(load_domain(name).schema.tables)
        state = "written" if written else "kept"
        print(f"{path.name:28} {tables:3} tables {path.stat().st_size / 1024:8,.0f} KiB  {state}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
