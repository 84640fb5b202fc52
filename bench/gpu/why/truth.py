# SPDX-License-Identifier: Apache-2.0
"""What a program knows of its own loop: its line, its turns, and how long the device waited for each of its functions.

with loop.in_function("augment"): ... counts time that the loop spends in augment() while nothing is queued on the device."""
import contextlib
import inspect
import sys
import time

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 5


class Loop:
    """The loop of `function` whose head begins with the words `head`; over after SECONDS."""

    def __init__(self, function, head):
        lines, first = inspect.getsourcelines(function)
        self.line = next(first + i for i, line in enumerate(lines) if line.strip().startswith(head))
        self.function, self.turns, self.of, self.begin = function.__name__, 0, {}, time.perf_counter()

    def goes_on(self):
        """Counts a turn. False when the time is over."""
        is_over = time.perf_counter() - self.begin > SECONDS
        self.turns += not is_over
        return not is_over

    @contextlib.contextmanager
    def in_function(self, name):
        begin = time.perf_counter()
        yield
        self.of[name] = self.of.get(name, 0) + time.perf_counter() - begin

    def tell(self):
        """Prints the truth as words NAME=VALUE: the owner is the function that kept the device waiting for longest."""
        spent = time.perf_counter() - self.begin
        owners = sorted(self.of.items(), key=lambda o: -o[1]) or [("-", 0)]
        print("truth loop=%s line=%d steps=%d ms=%.2f owner=%s share=%.1f%% others=%s" % (
            self.function, self.line, self.turns, 1e3 * spent / max(self.turns, 1), owners[0][0], 100 * owners[0][1] / spent,
            ",".join("%s:%.1f%%" % (name, 100 * s / spent) for name, s in owners[1:]) or "-"), flush=True)
