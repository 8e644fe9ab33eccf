# SPDX-License-Identifier: Apache-2.0
# threads.py: runs the work of a test in several threads at once.
import threading


def in_threads(work, arguments):
    """``work(a)`` for each of ``arguments`` in a thread of its own; none of them may raise."""
    errors = []

    def run(argument):
        try:
            work(argument)
        except BaseException as e:  # noqa: BLE001 - reported below
            errors.append(e)

    threads = [threading.Thread(target=run, args=(a,)) for a in arguments]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
