"""keras-rl: a line an episode, with the steps of the environment (one update each, once learning began).

`` 39497/50000: episode: 570, duration: 1.759s, episode steps: 337, steps per second: 192, episode reward: 337.000, …``:
the counter is that of all steps, the duration that of the episode's.
"""

from monitor.parse.family import Line

GATES = (": episode: ",)
LINES = (
    Line(
        "keras-rl",
        r"(?<![\d/.])<step>/<total>: episode: \d{1,9}, duration: <s>s, episode steps:\s{1,6}<over>, steps per second:",
        more=(r"\bloss: <loss>",),
        meaning="interval",
    ),
)
