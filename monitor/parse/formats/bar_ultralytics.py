"""The epoch bars of Ultralytics (YOLOv5, YOLOv8 and later), drawn by tqdm or by Ultralytics' own bar.

``1/100  2.73G  1.162  2.341  1.252  16  640:  25%|##5       | 50/200 [00:12<00:37,  4.05it/s]`` and, since 2025,
``1/100  2.7G  1.162 … 640: 25% ━━━───────── 50/200 4.1it/s 12.3s<37.0s``: epoch, memory held by the allocator, the losses by
part (no sum, so none is taken), instances, image size; then a bar over the batches of the epoch with a moving average, or
at its end the mean since its start. Some consoles keep no bar: ``640: 25% 50/200 [00:12<00:37,  4.05it/s]``. The
description changes with every redraw, so that only this family knows it to be ONE bar; it is handed on as a tqdm bar.
Traps: the bar of the validation has words (``Class  Images  Instances``) in front; versions differ in whether "G" is 10^9
or 2^30 bytes (today 2^30, as taken here).
"""

from monitor.parse.family import NUMBER, Line

GATES = ("G  ",)
BEFORE = {"tqdm": "it would take each redraw for a bar of its own, as the losses stand in the description"}
_HEAD = (
    r"(?:^|\s)<epoch>/\d{1,9}\s{1,12}<gib>G(?:\s{1,40}(?:-?\d[\d.e+-]{0,15}|nan|-?inf)){1,14}\s{0,40}:\s{1,3}\d{1,3}%"
)
LINES = (
    Line(
        "tqdm",
        _HEAD + r"(?:\|[^|]{0,200}\|)?\s{0,9}<step>/<total> \[<hms><[\d:?]{1,12},\s{1,4}(?:<pace>it/s|<s>s/it|\?)",
        meaning="smoothed",
        many=True,
        bar="ultralytics",
    ),
    Line(
        "tqdm",
        _HEAD + rf" [━─╸╺]{{0,80}} ?<step>/<total> (?:(?P<pace>{NUMBER}K?)it/s|<s>s/it) (?P<hms>[\d:.]{{1,12}}s?)",
        meaning="smoothed",
        many=True,
        bar="ultralytics",
    ),
)
