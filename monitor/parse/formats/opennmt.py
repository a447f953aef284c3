"""OpenNMT-py and OpenNMT-tf.

``Step 50/100000; acc: 5.1; ppl: 12345.6; xent: 9.4; lr: 0.00001; sents: 3200; bsz: 900/950/64; 1234/2345 tok/s;     12 sec;``
(py): seconds since training began, whole ones; the rates are of source and target since the last report, the target's is
taken. ``Epoch 2, 150/4000; acc: 5.10; ppl: 900.00; xent: 6.8; 3100 src tok/s; 3000 tgt tok/s; 120 s elapsed`` (py before 1.0):
the same, counted within the epoch. ``Step = 100 ; steps/s = 0.61, tokens/s = 30842 (15k source, 15k target) ; Learning rate =
0.0001 ; Loss = 9.1``
(tf): rates since the last report. Trap: py's perplexity and accuracy of the validation stand on lines of their own.
"""

from monitor.parse.family import Line

GATES = (" tok/s;", " s elapsed", " ; Learning rate = ")
_LOSS = (r"\bxent:\s{1,9}<loss>",)
LINES = (
    Line(
        "opennmt",
        r"\bStep\s{1,9}<step>(?:/\s{0,9}<total>)?; (?P<rest>[^|]{0,200}?)"
        r"\s<number>/\s{0,9}<rate> tok/s;\s{1,9}<clock> sec",
        _LOSS,
        unit="tokens/s",
        meaning="clock",
    ),
    Line(
        "opennmt",
        r"\bEpoch\s{1,9}<epoch>,\s{1,9}<step>/\s{0,9}\d{1,15}; (?P<rest>[^|]{0,200}?)"
        r"\s<rate> tgt tok/s;\s{1,9}<clock> s elapsed",
        _LOSS,
        unit="tokens/s",
        meaning="clock",
    ),
    Line(
        "opennmt-tf",
        r"\bStep = <step> ; (?P<rest>.*)",
        more=(r"\bsteps/s = <pace>", r"\b(?:tokens|target words)/s = <rate>", r"\bLoss = <loss>"),
        unit="tokens/s",
        meaning="interval",
        needs="rate|pace",
    ),
)
