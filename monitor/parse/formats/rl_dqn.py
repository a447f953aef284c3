"""Deep Q-learning as a well-known course teaches it: ``Step 197 (9999) @ Episode 1/10, loss: 0.03125``.

The step of the episode, that of the run in brackets, the loss of the last update. The line is drawn again and again.
"""

from monitor.parse.family import Line

GATES = (") @ Episode ",)
LINES = (Line("rl-dqn", r"\bStep \d{1,9} \(<step>\) @ Episode \d{1,9}/\d{1,9}, loss: <loss>", many=True),)
