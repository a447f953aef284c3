"""rl_games, the trainer of Isaac Gym and Isaac Lab.

``fps step: 152301 fps step and policy inference: 140112 fps total: 90123 epoch: 12/1000 frames: 786432``: an epoch is one
rollout and its updates, which is this trainer's step; ``fps total`` counts frames of the environments over both. No time,
and no loss.
"""

from monitor.parse.family import Line

GATES = (" fps total: ",)
LINES = (
    Line("rl-games", r"\bfps step: [\d.]{1,20} .{0,60}fps total: <rate> epoch: <step>(?:/<total>)?", unit="frames/s"),
)
