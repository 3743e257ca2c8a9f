"""A server's address, as a person wrote it. Messages about faults never repeat it, since it may hold a password."""

from __future__ import annotations

import re

from agro_data.databases.errors import DatabaseError

_DRIVER = re.compile(r"postgres(ql)?\+\w*:")
_URL = re.compile(r"postgres(ql)?://")
_ONE_HOST = re.compile(r"[^@/]*@?[^@?]*(\?.*)?", re.DOTALL)  # an @ but for the one before it is in role or password
_HINT = (
    "it may hold a password and is not repeated. Write postgresql://role@host/database, service=NAME, or "
    "'host=... dbname=...'; a password is best kept in ~/.pgpass or PGPASSWORD. In a URL its @ : / ? # % and blanks "
    "are written %40 %3A %2F %3F %23 %25 %20; after password= a value with blanks stands in single quotes"
)


def refuse_unclear(url: str) -> None:
    """Raise `DatabaseError` unless libpq can read `url`: libpq's own message would repeat pieces of it."""
    from psycopg import ProgrammingError  # noqa: PLC0415
    from psycopg.conninfo import conninfo_to_dict  # noqa: PLC0415

    if _DRIVER.match(url):
        raise DatabaseError("PostgreSQL: the address names a driver after a +; write postgresql:// without it")
    try:
        read = conninfo_to_dict(url)
    except ProgrammingError:
        raise DatabaseError(f"PostgreSQL: the address is none that libpq takes; {_HINT}") from None
    scheme = _URL.match(url)
    if scheme and not _ONE_HOST.fullmatch(url, scheme.end()):
        raise DatabaseError(f"PostgreSQL: the address has an @ too many, or behind a /; {_HINT}")
    if not all(port.isdecimal() for port in str(read.get("port") or "").split(",") if port):
        raise DatabaseError(f"PostgreSQL: the port in the address is no number; {_HINT}")
