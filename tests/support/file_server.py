"""A file server on localhost that can be told to misbehave as real ones do."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server(ThreadingHTTPServer):
    """Serves `files`; `breaks` says after how many bytes each coming answer is cut off."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.ranges = True
        self.lengths = True
        self.tag = '"one"'
        self.breaks: list[int] = []
        self.refuses: list[int] = []
        self.asked: list[tuple[str, str]] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/"


class Handler(BaseHTTPRequestHandler):
    """Answers GET, with Range and If-Range."""

    server: Server

    def do_GET(self) -> None:
        name = self.path.lstrip("/")
        wanted = self.headers.get("Range", "")
        self.server.asked.append((name, wanted))
        if self.server.refuses:
            self.send_error(self.server.refuses.pop(0))
            return
        if name not in self.server.files:
            self.send_error(404)
            return
        data = self.server.files[name]
        whole = len(data)
        same = self.headers.get("If-Range", self.server.tag) == self.server.tag
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        partly = bool(wanted) and self.server.ranges and same
        if partly and start >= whole:
            self.send_error(416)
            return
        self.send_response(206 if partly else 200)
        if partly:
            data = data[start:]
            self.send_header("Content-Range", f"bytes {start}-{whole - 1}/{whole}")
        if self.server.lengths:
            self.send_header("Content-Length", str(len(data)))
        if self.server.tag:
            self.send_header("ETag", self.server.tag)
        self.end_headers()
        if self.server.breaks:
            data = data[: self.server.breaks.pop(0)]
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@contextmanager
def file_server() -> Iterator[Server]:
    """A running server, closed at the end."""
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
