"""YOLACT and its kin.

``[  0]     120 || B: 5.412 | C: 12.310 | M: 5.302 | S: 1.221 | T: 24.245 || ETA: 5 days, 12:34:56 || timer: 0.612``: the epoch,
the iteration of the run, the parts of the loss, their sum ``T``, and the seconds of this iteration.
"""

from monitor.parse.family import Line

GATES = (" || timer: ",)
LINES = (
    Line(
        "yolact",
        r"\[ {0,9}<epoch>\] {1,9}<step> \|\|(?: [A-Z]: [\d.]{1,20} \|){1,9} T: <loss> \|\| ETA: [^|]{1,40} \|\| timer: <s>",
    ),
)
