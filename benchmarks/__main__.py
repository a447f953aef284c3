"""``python -m benchmarks [NAME…]``: runs the benchmarks and prints their tables, as ratios measured in one run."""

from __future__ import annotations

import importlib
import pkgutil
import sys

import benchmarks


def main(names: list[str]) -> int:
    found = pkgutil.iter_modules(benchmarks.__path__)
    present = sorted(module.name for module in found if module.name != "__main__" and not module.ispkg)
    for name in names or present:
        module = importlib.import_module(f"benchmarks.{name}")
        print(f"\n{(module.__doc__ or name).splitlines()[0]}\n")
        table = module.rows()
        widths = [max(len(str(row[column])) for row in table) for column in range(len(table[0]))]
        for row in table:
            print("  ".join(str(cell).ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
