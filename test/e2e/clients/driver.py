# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# The test appends this driver to the code of docs/clients.md. For each line "fill N" or "read N" of its input, it writes or reads N keys
# and prints how many requests succeeded, how many failed, and the first failure. "use N" writes and reads each key with the same client.
# If the nodes change, the client changes only between two keys, so each value that was just written must be found.

import sys

for line in sys.stdin:
    command, keys = line.split()
    succeeded, failed, first = 0, 0, ""
    for number in range(1, int(keys) + 1):
        try:
            client = cache.connection()
            if command == "fill":
                succeeded += bool(client.set(f"key-{number:06d}", b"value", 600))
            elif command == "use":
                stored = client.set(f"key-{number:06d}", b"value", 600)
                succeeded += bool(stored) and client.get(f"key-{number:06d}") == b"value"
            else:
                succeeded += client.get(f"key-{number:06d}") == b"value"
        except Exception as failure:
            failed, first = failed + 1, first or repr(failure)
    print(succeeded, failed, first.replace("\n", " "), flush=True)
