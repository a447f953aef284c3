"""Rules about what cannot be seen: reported once, as information, so that silence is never mistaken for health."""

from __future__ import annotations

from monitor.diagnose.rulebook import Case, rule
from monitor.diagnose.words.devices import unseen
from monitor.diagnose.words.epochs import epoch_count
from monitor.model import Evidence, Finding, Gap, Recommendation
from monitor.parse.pages.shapes import suggested_pattern

# One process a node prints this; it is read as format "key-value", under mpirun and torchrun alike.
NODE_LINE = (
    "if int(os.environ.get('LOCAL_RANK', os.environ.get('OMPI_COMM_WORLD_LOCAL_RANK', 0))) == 0: "
    "print(f'step={step} step_time_s={seconds:.4f}', flush=True)"
)


@rule("no-step-lines", needs="nothing", about="sight", whole_log=True)
def no_step_lines(case: Case) -> Finding | None:
    """The logs have lines, but none was recognized as a training step.

    What it means: no log line has a format that Trainwatch recognizes as a training step, or lines report whole epochs only.

    Why it matters: without steps there is no step time and no progress, and utilization is judged from the first busy
    minute instead of the first step.

    What to do: give the pattern of your step lines with --step-regex, or print step=… step_time_s=… from one process
    per node.

    Source: the recognized formats are listed in docs/log-formats.md.
    """
    logs = case.run.logs
    if not logs.lines or len(case.run.steps):
        return None
    pattern = next((found for line in logs.sample if (found := suggested_pattern(line))), None)
    shown = " The lines most likely to hold step figures are below." if logs.sample else ""
    advice = (
        f"If that is the right line, give --step-regex '{pattern}'; named groups are step, time_s or time_ms, loss."
        if pattern
        else "Give --step-regex with named groups such as (?P<step>\\d+) and (?P<time_s>[\\d.]+), or print step=… step_time_s=…"
    )
    if (told := epoch_count(case.run.events)) is not None:
        pace = f" One takes {told.took} at the median, {told.whence}." if told.took else ""
        return Finding(
            "no-step-lines",
            "info",
            "high",
            "The log reports epochs only",
            f"The log reports {told.epochs:,} epochs and none of their steps.{pace} How many "
            "steps an epoch has is not known, so there is no step time.",
            (Evidence("first epoch's line", float(told.line)),),
            Recommendation(
                "Print a line every few steps, such as step=… step_time_s=…, or give --step-regex if each epoch is one step.",
                parameter="--step-regex",
                source="log formats",
            ),
        )
    return Finding(
        "no-step-lines",
        "info",
        "high",
        "No step lines recognized",
        f"None of {logs.lines:,} log lines in {_streams(logs.streams)} was recognized as a training step, so there "
        f"is no step time.{shown}",
        tuple(Evidence("unrecognized line", line=line) for line in logs.sample),
        Recommendation(advice, parameter="--step-regex" if pattern else None, to_value=pattern, source="log formats"),
    )


@rule("node-timing-unobservable", needs="nothing", about="sight", whole_log=True)
def node_timing_unobservable(case: Case) -> Finding | None:
    """Not all nodes log step times.

    What it means: only some processes print (usually rank 0), or the lines of several nodes share one stream without
    naming their node, or all nodes print one figure that is reduced over the ranks.

    Why it matters: step times cannot reveal a slow node; only the metrics can.

    What to do: print one line per step from the first process of each node; the finding gives the line of Python to use.

    Source: the samples of the model parallel library print on rank 0 only, and mpirun sends all ranks to one stream.
    """
    count = case.run.job.instance_count or len(case.run.job.nodes)
    stats = case.steps
    if count < 2 or stats is None or stats.nodes_observed >= count:
        return None
    seen = sorted(set(case.run.steps["node"]) - {""})
    if len(seen) > stats.nodes_observed:
        said = f"{len(seen)} of {count} nodes print the same figures step for step: one global figure, not each node's own."
    elif seen:
        missing = [name for name in case.run.job.node_names if name not in seen]
        which = (
            ", ".join(missing[:3]) + (f" and {len(missing) - 3} more" if len(missing) > 3 else "")
            if missing
            else "the others"
        )
        some = ", ".join(seen[:3]) + (" and others" if len(seen) > 3 else "")
        verb = "logs" if len(seen) == 1 else "log"
        said = f"Of {count} nodes, only {some} {verb} step times; those of {which} cannot be seen."
    else:
        said = (
            f"The step lines of {count} nodes share one stream and do not name their node, "
            "so no node's own step time can be seen."
        )
    return Finding(
        "node-timing-unobservable",
        "info",
        "high",
        f"Only {stats.nodes_observed} of {count} nodes {'logs' if stats.nodes_observed == 1 else 'log'} step times"
        if seen
        else f"Step times of {count} nodes cannot be told apart",
        f"{said} A slow node would only show in its GPU and CPU figures.",
        (Evidence("nodes with step lines", float(stats.nodes_observed), f"of {count}", view="steps"),),
        Recommendation(
            "Print one line per step from the first process of each node:",
            source="log format key-value",
            code=NODE_LINE,
        ),
    )


@rule("metrics-unavailable", needs="nothing", about="sight")
def metrics_unavailable(case: Case) -> Finding | None:
    """No metrics could be read, or none for the accelerators.

    What it means: CloudWatch returned no figures for this job, or only CPU figures (it has none for NeuronCores); the
    finding says why.

    Why it matters: nothing can be said about GPU, memory or CPU use; that does not mean they are fine.

    What to do: depending on the reason: grant a right, change the region, use the accelerator's own tools; nothing if
    the job never ran.

    Source: CloudWatch keeps metrics 15 days at one minute, 63 at five minutes, 455 at one hour (CloudWatch
    documentation).
    """
    if case.run.metrics.empty:
        return _unavailable(case, "metrics", "metrics-unavailable", "utilization is unknown")
    nodes = case.run.job.nodes
    seen = set(case.run.metrics.loc[case.run.metrics["metric"] == "gpu_utilization", "node"])
    dark = unseen(nodes, seen)
    if not dark:
        return None
    gaps = [gap for gap in case.run.gaps if gap.what in {"metrics", "normalisation"}]
    why, remedy = f"CloudWatch has no GPU metrics for this job; {dark} is unknown.", gaps[0].remedy if gaps else ""
    if "NeuronCore" in dark:
        why = f"CloudWatch has no metrics for NeuronCores; {dark} is unknown."
        remedy = "Run neuron-monitor alongside the training, or log its figures from the script."
    elif gaps:
        why = f"{gaps[0].why.rstrip('.')}; {dark} is unknown."
    facts = tuple(Evidence(gap.why) for gap in gaps) or (
        Evidence("nodes without figures", float(len(nodes) - len(seen))),
    )
    return Finding(
        "metrics-unavailable",
        "info",
        "high",
        f"{dark} not known",
        why,
        facts,
        Recommendation(remedy) if remedy else None,
        gaps=() if "NeuronCore" in dark else tuple(gaps[:1]),
    )


@rule("logs-unavailable", needs="nothing", about="sight")
def logs_unavailable(case: Case) -> Finding | None:
    """No logs could be read.

    What it means: the job has no readable log stream; the finding says why.

    Why it matters: without logs there are no step times, no progress and no errors to show.

    What to do: depending on the reason: grant a right, check the retention setting, or wait until the container has
    started.

    Source: a stream appears when its container first writes (CloudWatch Logs).
    """
    return (
        None
        if case.run.logs.lines
        else _unavailable(case, "logs", "logs-unavailable", "step times and errors are unknown")
    )


@rule("coarse-metrics", needs="nothing", about="sight")
def coarse_metrics(case: Case) -> Finding | None:
    """The metrics are coarser than one minute because the job is old.

    What it means: CloudWatch keeps one-minute data for 15 days, five-minute data for 63, hourly data for 455.

    Why it matters: short events are averaged out; percentiles are taken over longer means.

    What to do: archive jobs within two weeks if details matter.

    Source: CloudWatch documentation, retention of metric data.
    """
    period = case.run.metrics_period_s
    if period is None or period <= 60 or case.run.metrics.empty:
        return None
    minutes = period // 60
    return Finding(
        "coarse-metrics",
        "info",
        "high",
        f"Metrics are {minutes}-minute means",
        f"The job is so old that CloudWatch only has {minutes}-minute means of its metrics; anything shorter is "
        "averaged away.",
        (Evidence("metric period", float(period), "s"),),
    )


def _unavailable(case: Case, what: str, id: str, so: str) -> Finding | None:
    gaps = [gap for gap in case.run.gaps if gap.what == what]
    if not gaps:
        return None
    first: Gap = gaps[0]
    return Finding(
        id,
        "info",
        "high",
        f"No {what}",
        f"{first.why.rstrip('.')}; {so}.",
        tuple(Evidence(gap.why) for gap in gaps),
        Recommendation(first.remedy) if first.remedy else None,
        gaps=(first,),
    )


def _streams(count: int) -> str:
    return "1 stream" if count == 1 else f"{count} streams"
