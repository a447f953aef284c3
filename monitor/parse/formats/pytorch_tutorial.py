"""PyTorch's tutorials on names and translation, which very many first programs are made from: no word, a clock and a count.

``1m 47s (- 25m 11s) (5000 6%) 2.8542`` is the time so far, what is left, the iteration with its share of all, and the mean
loss since the last line; some leave out what is left. ``5000 5% (0m 7s) 2.6395 Marlowe / English`` is the other order, with
the loss of one. ``[81.7245 (500 5%) 1.9224]`` has the seconds so far. Where the count stays below 100 it is one of epochs: such
a line tells of no step.
"""

from monitor.parse.family import Line

GATES = ("%) ", "% (")
_CLOCK = r"(?P<hms>(?:\d{1,4}h )?\d{1,6}m \d{1,2}s)"
_STEP = r"(?P<step>\d{3,9}) \d{1,3}%"
_LEFT = r"(?:\(- [^()]{2,24}\) )?"
LINES = (
    Line(
        "pytorch-tutorial",
        rf"(?<![\w.]){_CLOCK} {_LEFT}\({_STEP}\) (?:(?:train(?:ing)? )?loss\s?[:=]?\s?)?<loss>(?![\w%])",
    ),
    Line("pytorch-tutorial", rf"(?<![\w.]){_STEP} \({_CLOCK}\) <loss>(?![\w%])"),
    Line("pytorch-tutorial", rf"\[(?P<elapsed>\d{{1,7}}\.\d{{1,18}}) \({_STEP}\) <loss>\]"),
)
