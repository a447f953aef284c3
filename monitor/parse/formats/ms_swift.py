"""ModelScope SWIFT: the dicts of the Hugging Face Trainer with a step of their own.

``{'loss': 1.5, …, 'epoch': 0.1, 'global_step/max_steps': '10/1000', 'memory(GiB)': 53.8, 'train_speed(s/it)': 2.5}``: beside
bars the dict gives the loss of the bar's last step, as any Trainer's; without bars it is the report. The speed (before,
``train_speed(iter/s)``) is the mean since training began. A line that holds a bar, too, is the bar's.
"""

from monitor.parse.family import Line

GATES = ("'global_step/max_steps': '",)
BEFORE = {"tqdm": "it reads the same dict as the loss of a bar, without the step"}
LINES = (
    Line(
        "hf-trainer",
        r"(?s)^(?!.*%\|).*'global_step/max_steps': '<step>/<total>'",
        more=(
            r"[{ ]'loss': '?<loss>'?[,}]",
            r"'epoch': '?<share>'?[,}]",
            r"'train_speed\(s/it\)': '?<s>'?[,}]",
            r"'train_speed\(iter/s\)': '?<pace>'?[,}]",
            r"'memory\(GiB\)': '?<gib>'?[,}]",
        ),
        meaning="running-mean",
        needs="loss",
        anywhere=True,
    ),
)
