"""Program that a client of another language starts in place of the server: it becomes a fork.

Arguments: the address of the fork server, and the arguments of `acp-server`. Its descriptors, its
environment and its directory become those of the fork, to which it passes signals on, and with
whose exit code it ends. It imports so little that it starts at once.
"""

import json
import os
import signal
import socket
import sys

NUMBER_BYTES = 4
PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def read_number(connection: socket.socket) -> int:
    received = b""
    while len(received) < NUMBER_BYTES:
        more = connection.recv(NUMBER_BYTES - len(received))
        if not more:
            sys.exit("the fork server has ended")
        received += more
    return int.from_bytes(received, "big", signed=True)


def main(address: str, *arguments: str) -> int:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        read_number(connection)
        status, its = socket.socketpair()
        request = json.dumps([arguments, dict(os.environ), os.getcwd()]).encode()  # noqa: TID251, PTH109
        with its:
            head = len(request).to_bytes(NUMBER_BYTES, "big")
            socket.send_fds(connection, [head], [0, 1, 2, its.fileno()])
        connection.sendall(request)
        process_id = read_number(status)
        for number in PASSED_ON:
            signal.signal(number, lambda number, _: os.kill(process_id, number))
        # only the fork may hold them: the ends of the streams are its own
        os.close(0)
        os.close(1)
        code = read_number(status)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
