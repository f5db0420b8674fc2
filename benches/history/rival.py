#!/usr/bin/env python3
"""Apache Otava over the series that the benchmark `series` wrote: rival.py SERIES.json

Totals of each component, as it takes them, with its default options. The same questions: how many alarms over equal runs, as the series grows by
5 runs at a time, an alarm within 5 runs of an earlier one of its component counted once; and whether a component that is 5 % slower is found
within 5 runs.
"""

import json
import sys

from otava.analysis import compute_change_points

FIRST, STEP, WITHIN = 10, 5, 5


def changes(values):
    found = compute_change_points(values, window_len=50, max_pvalue=0.001, min_magnitude=0.0)
    found = found[0] if isinstance(found, tuple) else found
    return [point.index for point in found]


def main():
    series = json.load(open(sys.argv[1]))
    alarms = runs = found = sought = 0
    longest = {}
    for one in series:
        values, known = one["values"], []
        for end in range(FIRST, len(values) + 1, STEP):
            for at in changes(values[:end]):
                if all(abs(at - other) > WITHIN for other in known):
                    known.append(at)
        alarms += len(known)
        longest[one["program"]] = len(values) - FIRST
        for at in one["places"]:
            slower = values[:at] + [1.05 * value for value in values[at : at + WITHIN]]
            found += any(abs(point - at) <= 2 for point in changes(slower))
            sought += 1
    runs = sum(longest.values())
    print(f"Otava: {100 * alarms / runs:.1f} alarms in 100 equal runs; 5 % slower within {WITHIN} runs: {found} of {sought}, {100 * found / sought:.1f} %")


if __name__ == "__main__":
    main()
