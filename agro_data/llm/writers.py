"""The model that a setting names: a server's address, vLLM's engine, or a model on this machine."""

from __future__ import annotations

from collections.abc import Mapping

from agro_data.llm.connection import Connection, NoAnswer, Patience
from agro_data.llm.endpoint import in_words, only_model, open_endpoint
from agro_data.llm.local import open_local, weights_of
from agro_data.llm.types import TURNED_AWAY, Backend
from agro_data.llm.vllm_engine import VllmEngine
from agro_data.models import DEFAULT_WRITER, find_model

ENGINE = "vllm:"  # before a Hub id or a folder: written by vLLM's offline engine

SOON = Patience(tries=2, pause=0.2, timeout=20.0, minutes=0.5)  # a person is waiting


def is_address(name: str) -> bool:
    """Whether a model is named by the address of its server."""
    return name.startswith(("http://", "https://"))


def open_writer(name: str) -> Backend:
    """The backend of `name`: `http(s)://host/v1[#MODEL]`, `vllm:MODEL`, or a Hub id or folder for transformers.

    Raises `EndpointError` or `ModelMissing` where there is no such model.
    """
    if is_address(name):
        return open_endpoint(name)
    if name.startswith(ENGINE):
        model = name.removeprefix(ENGINE)
        return VllmEngine(model, weights=weights_of(find_model(model, like=DEFAULT_WRITER)))
    return open_local(name)


def identity_of(name: str) -> Mapping[str, str]:
    """What, beside a request, decides the answers of the model `name`: never where a server listens or a folder lies.

    A server is asked what it serves and nothing else; nothing is loaded. Raises as `open_writer` does.
    """
    if is_address(name):
        return {"asked": "server", "model": _served(name)}
    if name.startswith(ENGINE):
        return {"asked": "vllm", "weights": weights_of(find_model(name.removeprefix(ENGINE), like=DEFAULT_WRITER))}
    return {"asked": "transformers", "weights": weights_of(find_model(name, like=DEFAULT_WRITER))}


def _served(address: str) -> str:
    """The model behind an address. A server that does not list its models is believed where one is named."""
    base, _, model = address.partition("#")
    connection = Connection(base.rstrip("/"), patience=SOON)
    try:
        if not model:
            return only_model(connection)
        connection.ask("models")
    except NoAnswer as error:
        if error.kind not in TURNED_AWAY:
            raise in_words(error) from error
    finally:
        connection.close()
    return model
