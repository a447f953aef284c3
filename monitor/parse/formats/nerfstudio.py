"""nerfstudio's table in the terminal, which scrolls.

``4090 (13.63%)       43.140 ms            1 m, 12 s            94.96 K`` under ``Step (% Done)  Train Iter (time)  ETA (time)
Train Rays / Sec``: a running mean of the seconds of an iteration, an estimate, rays a second. Any of the columns behind
the time may lack.
"""

from monitor.parse.family import NUMBER, Line

GATES = ("%)  ",)
_DURATION = r"\d{1,9}(?:\.\d{1,6})? (?:us|ms|s|m|h)\b"
LINES = (
    Line(
        "nerfstudio",
        rf"^\s{{0,9}}<step> \(\d{{1,3}}(?:\.\d{{1,4}})?%\)\s{{2,60}}(?P<time>{_DURATION}(?:, {_DURATION}){{0,2}})"
        rf"(?:\s{{2,60}}{_DURATION}(?:, {_DURATION}){{0,3}})?(?:\s{{2,60}}(?P<rate>{NUMBER}(?: [KMB]\b)?))?",
        unit="rays/s",
        meaning="running-mean",
    ),
)
