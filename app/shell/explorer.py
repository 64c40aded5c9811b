"""Where commands are carried out: an explorer in this process, or a server."""

from __future__ import annotations

import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPException, IncompleteRead
from typing import Protocol, TypeVar
from urllib.parse import urlsplit

import msgspec

from app.config import ConfigurationError
from app.errors import InvalidBody, NotFound
from app.shell.failures import WRONG_COMMAND, WRONG_PROGRAM, Failure, Unreachable
from app.store.data_directory import check_temporary_directory

T = TypeVar("T")
_NAMES_NOTHING = (NotFound.code, InvalidBody.code)
"""Codes of errors that are of the command, not of the program."""
SECONDS = 600.0
"""How long a server may take to answer; measurements wait for their turn."""


class Explorer(Protocol):
    """Answers the requests of the API."""

    address: str
    """Address of the server; empty for this process."""

    def send(self, path: str, body: object | None) -> bytes:
        """Return the body of the response to a POST of a value as JSON, or to a GET without one.

        Raises
        ------
        Failure
            With the message of an error response.
        """

    def lines(self, path: str) -> Iterator[bytes]:
        """Return the lines of a stream of events, as they come."""


def ask(explorer: Explorer, path: str, body: object | None, kind: type[T]) -> T:
    """Return the response to a request, decoded."""
    return decoded(explorer, path, explorer.send(path, body), kind)


def decoded(explorer: Explorer, path: str, response: bytes, kind: type[T]) -> T:
    """Return the value that the body of a response holds.

    Raises
    ------
    Failure
        If it is not what this version expects there.
    """
    try:
        return msgspec.json.decode(response, type=kind)
    except msgspec.ValidationError as error:
        raise Failure(f"{explorer.address or path} answers as another version of Strata does: {error}") from None
    except msgspec.DecodeError as error:
        raise Unreachable(f"{explorer.address or path} does not answer as a server of Strata: {error}") from None


class Server:
    """A running server, by its address."""

    def __init__(self, address: str) -> None:
        named = address.startswith(("http://", "https://")) and address.isprintable() and " " not in address
        if not named or not urlsplit(address).hostname:
            raise Failure(f"--server: expected an address such as http://127.0.0.1:8000, got {address!r}", status=2)
        self.address = address.rstrip("/")

    def send(self, path: str, body: object | None) -> bytes:
        """Return the body of the response."""
        return b"".join(self._parts(path, body))

    def lines(self, path: str) -> Iterator[bytes]:
        """Return the lines of the response."""
        return (line.rstrip(b"\n") for line in self._parts(path, None))

    def _parts(self, path: str, body: object | None) -> Iterator[bytes]:
        data = None if body is None else msgspec.json.encode(body)
        request = urllib.request.Request(self.address + path, data, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as response:
                yield from response
                if response.length:  # which is what is left of the announced length
                    raise IncompleteRead(b"", response.length)
        except urllib.error.HTTPError as error:
            raise _refusal(error.read(), f"{self.address} answers with status {error.code}") from None
        except HTTPException as error:
            told = f"{type(error).__name__}: {error}"
            raise Unreachable(f"{self.address} does not answer as a server of Strata: {told}") from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, ConnectionResetError | BrokenPipeError):
                raise Unreachable(f"{self.address} closed the connection before it had answered: {reason}") from None
            raise Unreachable(f"no server answers at {self.address}: {reason}; `strata serve` starts one") from None


class _Here:
    """An explorer in this process, without a network."""

    address = ""

    def __init__(self, folder: str, lessons_dir: str | None) -> None:
        from app.config import Config, Unprotected
        from app.server import create_app
        from app.workers.in_process import InProcess

        # What the environment says of servers is not for this.
        alone = {"database": "", "store": "", "scheduler": "", "unsafe_public": False}
        settings: dict[str, object] = {**alone, "data_dir": folder, "rate_limit": 0, "pool": 1}
        settings["lessons_dir"] = lessons_dir
        try:
            try:
                application = create_app(Config.read(settings), renderer=InProcess())
            except Unprotected as error:
                print(f"strata: the script runs without a sandbox, as Python would run it: {error}", file=sys.stderr)
                application = create_app(Config.read(settings | {"unsafe_local": True}), renderer=InProcess())
        except ConfigurationError as error:
            raise Failure(str(error)) from None
        self._client = application.test_client()

    def send(self, path: str, body: object | None) -> bytes:
        """Return the body of the response."""
        if body is None:
            response = self._client.get(path)
        else:
            response = self._client.post(path, data=msgspec.json.encode(body), content_type="application/json")
        if response.status_code >= 400:
            raise _refusal(response.data, f"{path} answers with status {response.status_code}")
        content: bytes = response.data
        return content

    def lines(self, path: str) -> Iterator[bytes]:
        """Return the lines of the response."""
        from app.web.streams import lines_of

        return lines_of(self._client.get(path, buffered=False).response)

    def close(self) -> None:
        """Delete the editor's stubs, which are in a directory of their own."""
        from app.services import services_of

        services_of(self._client.application).close()


@contextmanager
def here(lessons_dir: str | None = None) -> Iterator[Explorer]:
    """Start an explorer in this process, whose data are gone afterwards.

    Parameters
    ----------
    lessons_dir
        Folder of lessons beside the built-in ones.

    Raises
    ------
    Failure
        If it cannot start.
    """
    try:
        check_temporary_directory()
    except ConfigurationError as error:
        raise Failure(str(error)) from None
    with tempfile.TemporaryDirectory(prefix="strata-") as folder, closing(_Here(folder, lessons_dir)) as explorer:
        yield explorer


def _refusal(body: bytes, otherwise: str) -> Failure:
    """Return what an error response says; what no server of Strata wrote is no answer of one."""
    from app.web.error_responses import ErrorBody

    try:
        error = msgspec.json.decode(body, type=ErrorBody).error
    except msgspec.MsgspecError:
        return Unreachable(f"{otherwise}, which no server of Strata wrote")
    is_told = error.expected is None or error.expected in error.message
    expected = "" if is_told else f", expected {error.expected}"
    message = f"{error.message}{f' ({error.field})' if error.field else ''}{expected}"
    return Failure(message, WRONG_COMMAND if error.code in _NAMES_NOTHING else WRONG_PROGRAM)
