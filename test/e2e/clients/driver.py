# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0
#
# Follows the code of docs/clients.md. For each line "fill N" or "read N", it writes or reads N keys and prints how many requests
# succeeded, how many failed, and the first failure. "use N" does both with each key over one client: if the nodes change, that is a
# moment between two keys, so a value that is not there means a failure.

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
