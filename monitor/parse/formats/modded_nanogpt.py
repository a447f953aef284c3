"""modded-nanogpt and the speedruns made from it.

``step:120/5100 train_loss:4.91 train_time:20100ms step_avg:182.73ms``: train_time is a clock, in ms or s; it stands
still during validation, and older scripts set it back to 0 behind step 10. step_avg is the mean since then, "nan" at
first. Newer scripts print no loss, others more fields, one of them the time since the report before.
``step:125/5100 val_loss:… train_time:…`` is a validation, and the log begins with the source of the script, whose templates
look like such lines.
"""

from monitor.parse.family import Line, no_step

GATES = ("train_time:",)
LINES = (
    Line(
        "modded-nanogpt",
        r"\bstep:<step>/<total> (?:train_loss:<loss> )?(?:(?!val)\w{1,24}:[\d.e+-]{1,24} ){0,6}train_time:<time>",
        meaning="clock",
    ),
    no_step(r"\bstep:\d{1,12}/\d{1,12} val_loss:"),
)
