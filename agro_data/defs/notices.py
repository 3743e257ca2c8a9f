"""Notices of failed runs, to a webhook or a command that the environment names. Without one nothing is sent.

`AGRO_NOTICE_WEBHOOK` is an address that takes JSON by POST, whose `text` chat servers show; `AGRO_NOTICE_COMMAND` a
command that gets the same JSON on its standard input. Both may hold secrets: neither is ever in a message, and values
of variables with names like secrets are removed from all that is sent.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from http.client import HTTPException

from agro_data.words import cut

WEBHOOK = "AGRO_NOTICE_WEBHOOK"
COMMAND = "AGRO_NOTICE_COMMAND"
UI = "AGRO_UI"  # address of the web interface, for the link
SECRET = re.compile(r"TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|WEBHOOK|_KEY$|^KEY$", re.IGNORECASE)
SHORTEST = 6  # characters of a secret: "1" would blot out every one
BLOT = "•••"
TRIES = 3
PAUSE = 1.0  # seconds before the second try; twice that before the third
TIMEOUT = 20.0  # seconds of one try, or of the command
LONGEST = 1_500  # characters of an error
NO_ADDRESS = "is no address: expected http:// or https://"


class NotNotified(RuntimeError):
    """A notice did not arrive; the message names neither address nor command."""


@dataclass(frozen=True)
class Notice:
    """A run that failed: `errors` by step, shortened; `link` to its page, or ""."""

    job: str
    run_id: str
    errors: Mapping[str, str]
    link: str

    def payload(self, environment: Mapping[str, str]) -> bytes:
        """As a line of JSON, with the words that chat servers show, and without secrets."""
        errors = {step: cut(without_secrets(error, environment), LONGEST) for step, error in self.errors.items()}
        said = [f"{self.job} failed (run {self.run_id[:8]})", *(f"{step}: {error}" for step, error in errors.items())]
        text = "\n".join([*said, *([self.link] if self.link else [])])
        line = json.dumps({"text": text} | asdict(self) | {"errors": errors}, ensure_ascii=False)
        return f"{line}\n".encode()


def configured(environment: Mapping[str, str]) -> bool:
    """Whether there is somewhere to send notices to."""
    return bool(environment.get(WEBHOOK) or environment.get(COMMAND))


def send(notice: Notice, environment: Mapping[str, str], *, pause: float = PAUSE) -> list[str]:
    """Send to all that is configured; what it was sent to. Raises `NotNotified` when one did not take it."""
    payload = notice.payload(environment)
    sent: list[str] = []
    failed: list[str] = []
    for name, deliver in ((WEBHOOK, _post), (COMMAND, _run)):
        if target := environment.get(name):
            try:
                deliver(target, payload, pause)
                sent.append(name)
            except NotNotified as error:
                failed.append(f"{name}: {error}")
    if failed:
        raise NotNotified("; ".join(failed))
    return sent


def without_secrets(text: str, environment: Mapping[str, str]) -> str:
    """`text` with the values of variables that are called like secrets, and passwords in addresses, blotted out."""
    secrets = {v for name, v in environment.items() if SECRET.search(name) and len(v) >= SHORTEST}
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, BLOT)
    return re.sub(r"(\w://)[^/@\s:]*:[^/@\s]+@", rf"\1{BLOT}@", text)


class _Unmoved(urllib.request.HTTPRedirectHandler):
    """A POST that is sent elsewhere would arrive as a GET: that is no delivery."""

    def redirect_request(self, *_: object) -> None:
        return None


def _post(address: str, payload: bytes, pause: float) -> None:
    """POST, tried again where that may help. Errors of the library hold the address: only their kind is told."""
    if not address.lower().startswith(("http://", "https://")):  # a file or a mail would be "sent", and go nowhere
        raise NotNotified(NO_ADDRESS)
    opener = urllib.request.build_opener(_Unmoved)
    for attempt in range(1, TRIES + 1):
        try:
            request = urllib.request.Request(address, payload, {"Content-Type": "application/json"})
            with opener.open(request, timeout=TIMEOUT):
                return
        except urllib.error.HTTPError as error:
            reason = f"answered {error.code}"
            final = error.code < 500 and error.code not in (408, 429)
        except (OSError, HTTPException) as error:
            reason, final = f"cannot be reached ({type(error).__name__})", False
        except ValueError:
            reason, final = NO_ADDRESS, True
        if final or attempt == TRIES:
            raise NotNotified(reason) from None
        time.sleep(pause * 2 ** (attempt - 1))


def _run(command: str, payload: bytes, _: float) -> None:
    try:
        words = shlex.split(command)
        if not words:
            raise NotNotified("is empty")
        done = subprocess.run(words, input=payload, capture_output=True, timeout=TIMEOUT, check=False)
    except ValueError:
        raise NotNotified("cannot be split into words: check its quotes") from None
    except subprocess.TimeoutExpired:
        raise NotNotified(f"took longer than {TIMEOUT:.0f} seconds") from None
    except OSError as error:
        raise NotNotified(f"cannot be started: {error.strerror}") from None
    if done.returncode:
        raise NotNotified(f"ended with status {done.returncode}")
