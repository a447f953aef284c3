"""``python -m benchmarks [NAME…]``: runs the benchmarks and prints their tables, as ratios measured in one run.

It ends with status 1 where a benchmark has a line to pass and does not pass it.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys

import benchmarks


def main(arguments: list[str]) -> int:
    found = pkgutil.iter_modules(benchmarks.__path__)
    present = sorted(module.name for module in found if module.name != "__main__" and not module.ispkg)
    parser = argparse.ArgumentParser("python -m benchmarks", description="Prints each benchmark's table.")
    parser.add_argument("names", metavar="NAME", nargs="*", help=f"one of {', '.join(present)}; all without a name")
    names = parser.parse_args(arguments).names
    if unknown := [name for name in names if name not in present]:
        parser.error(f"there is no benchmark {', '.join(unknown)}; there are {', '.join(present)}")
    failed: list[str] = []
    for name in names or present:
        module = importlib.import_module(f"benchmarks.{name}")
        print(f"\n{(module.__doc__ or name).splitlines()[0]}\n")
        table = module.rows()
        widths = [max(len(str(row[column])) for row in table) for column in range(len(table[0]))]
        for row in table:
            print("  ".join(str(cell).ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        failed += [f"{name}: {claim}" for claim in getattr(module, "failures", list)()]
    for line in failed:
        print(f"failed: {line}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
