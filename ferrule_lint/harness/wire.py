"""Messages between ranks and supervisor: frames of JSON, and who may talk at all.

A connection starts with a challenge: the server sends a nonce, the client answers with its HMAC under the run's token.
So nothing else on the network can join, and the token itself never travels. Messages are neither encrypted nor signed.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import socket
import struct
from typing import Any

_LENGTH = struct.Struct("<I")
#: a longer frame is somebody else's protocol
LONGEST_FRAME = 64 << 20
_NONCE = 32
#: what the server sends to a held thread
GO = b"g"


class WireError(Exception):
    """The other side is gone, or does not speak this protocol."""


def connect(address: str) -> socket.socket:
    """`unix:/path` or `tcp:host:port`."""
    scheme, _, rest = address.partition(":")
    if scheme == "unix":
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(rest)
        return connection
    host, _, port = rest.rpartition(":")
    connection = socket.create_connection((host.strip("[]"), int(port)), timeout=30)
    connection.settimeout(None)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def frame(message: Any) -> bytes:
    body = json.dumps(message, separators=(",", ":")).encode()
    return _LENGTH.pack(len(body)) + body


def read_exactly(connection: socket.socket, count: int) -> bytes:
    chunks = []
    while count:
        chunk = connection.recv(count)
        if not chunk:
            raise WireError("the connection was closed")
        chunks.append(chunk)
        count -= len(chunk)
    return b"".join(chunks)


def read_frame(connection: socket.socket) -> Any:
    (length,) = _LENGTH.unpack(read_exactly(connection, _LENGTH.size))
    if length > LONGEST_FRAME:
        raise WireError(f"a frame of {length} bytes")
    return json.loads(read_exactly(connection, length))


class Frames:
    """Frames out of a stream that arrives in pieces."""

    def __init__(self) -> None:
        self._data = b""

    def feed(self, data: bytes) -> list[Any]:
        """The messages that are complete now; WireError if they cannot be messages."""
        self._data += data
        messages = []
        while len(self._data) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._data)
            if length > LONGEST_FRAME:
                raise WireError(f"a frame of {length} bytes")
            end = _LENGTH.size + length
            if len(self._data) < end:
                break
            try:
                messages.append(json.loads(self._data[_LENGTH.size : end]))
            except ValueError:
                raise WireError("a frame that is not JSON") from None
            self._data = self._data[end:]
        return messages


def new_token() -> str:
    return os.urandom(32).hex()


def new_nonce() -> bytes:
    return os.urandom(_NONCE)


def proof(token: str, nonce: bytes) -> str:
    return hmac.new(token.encode(), nonce, hashlib.sha256).hexdigest()


def introduce(connection: socket.socket, token: str, hello: dict[str, Any]) -> None:
    """The client's half of the hand-shake."""
    nonce = read_exactly(connection, _NONCE)
    connection.sendall(frame({**hello, "proof": proof(token, nonce)}))


def is_genuine(token: str, nonce: bytes, hello: Any) -> bool:
    """The server's half: does the first message prove that its sender knows the token?"""
    if not isinstance(hello, dict) or not isinstance(hello.get("proof"), str):
        return False
    return hmac.compare_digest(hello["proof"], proof(token, nonce))
