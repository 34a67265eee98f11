"""An npm registry with one package, which exports `greet(name)`."""

import io
import json
import tarfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

PACKAGE = "greeting"
REGISTRY_HOST = "127.0.0.2"
"""This machine, but not the localhost that confined commands have of their own."""
_VERSION = "1.0.0"
_CODE = "exports.greet = (name) => `Hello, ${name}!`;\n"


def registry_pages(url: str) -> Mapping[str, bytes]:
    """Return what the registry at a URL answers, by path."""
    manifest = {"name": PACKAGE, "version": _VERSION, "main": "index.js"}
    files = {"package.json": json.dumps(manifest), "index.js": _CODE}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    version = {**manifest, "dist": {"tarball": f"{url}/{PACKAGE}.tgz"}}
    versions = {"dist-tags": {"latest": _VERSION}, "versions": {_VERSION: version}}
    document = json.dumps({"name": PACKAGE, **versions}).encode()
    return {f"/{PACKAGE}": document, f"/{PACKAGE}.tgz": packed.getvalue()}


@contextmanager
def serve_registry() -> Generator[str]:
    """Serve the registry in a thread; yield its URL."""
    pages: dict[str, bytes] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = pages.get(self.path)
            self.send_response(200 if body is not None else 404)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  as above
            del format, args

    server = ThreadingHTTPServer((REGISTRY_HOST, 0), Handler)
    url = f"http://{REGISTRY_HOST}:{server.server_port}"
    pages.update(registry_pages(url))
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield url
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
