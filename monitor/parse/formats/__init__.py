"""The log formats, one file a family; each is found by its being here, with example lines in tests/data/formats.

A family is data. Its docstring shows the lines, ``GATES`` are literal texts, one of which stands in every line (all other
lines are skipped quickly), and ``LINES`` say what a line looks like and what its numbers are::

    \"""The acme trainer: ``acme> update 120/500 done, 1931 msec, goodness 0.4, 512 tok/s``; the time is of that update.\"""

    from monitor.parse.family import Line, no_step

    GATES = ("acme> update", "acme> check")
    LINES = (
        Line("acme", r"acme> update <step>/<total> done, <ms> msec", more=(r"\\b<rate> tok/s",), unit="tokens/s"),
        no_step("acme> check"),
    )

A pattern is a regular expression; ``<role>`` in it is a group of that name around a number as it is usually printed, and
``(?P<role>…)`` one that is printed otherwise; ``<step2>`` is another place of the same role. The roles:

- step, total, epoch, rank; last (the total less one), share (epochs done, with their fraction), counter (micro-batches)
- s, ms, time (a number with its unit behind it: ``<time>``, or spelled like "1m 2s"): how long, as ``meaning`` says;
  over (so many steps took it), first (it began there), spent (whole seconds of all steps, beside a rounded time, where the
  step is the last of the ``bar``); since (a clock in place of a time); pace (steps a second); mean (of all
  steps so far, in seconds, beside a time of the last one)
- clock (whole seconds since the start), hms (the same as "1:02:03" or spelled), minutes, elapsed (with a fraction)
- rate (a throughput in ``unit``), each and thousand (the seconds that one or a thousand of its things take)
- loss; gib, mib, gb, mb, bytes (memory: powers of two, but for gb and mb); bar (its name); number, count (nothing)
- rest: where the figures of ``more``, ``rates`` and ``times`` stand; without it they stand behind the match

The first of LINES that a text is counts. ``no_step`` is a line that is known and no step: in front of the others it rules
them out, behind them it is what is left. What needs more than that is a ``read(text)`` in place of LINES, with ``FORMATS``.
``BEFORE`` names the families that know the same lines and come later, and why (a test finds such lines); ``GENERIC`` families
come last. What reads the lines and what asks CloudWatch Logs Insights for them (``monitor.parse.insights``) follow from that.
"""
