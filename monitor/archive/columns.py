"""Which columns do the tables of an archive have? In types that DuckDB, Spark and Athena read alike: 64 bits, texts,
instants in microseconds UTC. ``docs/archive.md`` says what each means.
"""

from __future__ import annotations

from typing import Literal

Kind = Literal["text", "whole", "number", "yes/no", "instant"]

STEPS: dict[str, Kind] = {
    "job_name": "text",
    "node": "text",
    "rank": "whole",
    "step": "whole",
    "timestamp": "instant",
    "step_time_s": "number",
    "throughput": "number",
    "throughput_unit": "text",
    "loss": "number",
    "gpu_memory_gib": "number",
    "format": "text",
    "kind": "text",
    "stream": "text",
    "line": "whole",
    "total": "whole",
    "segment": "whole",
    "warm_up": "yes/no",
    "reports": "whole",
    "learning_rate": "number",
}
METRICS: dict[str, Kind] = {
    "job_name": "text",
    "timestamp": "instant",
    "node": "text",
    "metric": "text",
    "value_pct": "number",
    "period_s": "whole",
}
EVENTS: dict[str, Kind] = {
    "job_name": "text",
    "timestamp": "instant",
    "node": "text",
    "rank": "whole",
    "kind": "text",
    "text": "text",
    "stream": "text",
    "line": "whole",
}
GPUS: dict[str, Kind] = {
    "job_name": "text",
    "timestamp": "instant",
    "node": "text",
    "gpu": "whole",
    "utilization_pct": "number",
    "memory_pct": "number",
    "even": "yes/no",
}
HOSTS: dict[str, Kind] = {
    "job_name": "text",
    "timestamp": "instant",
    "node": "text",
    "cores": "whole",
    "full_cores": "whole",
    "cpu_pct": "number",
    "waiting_cores": "number",
    "received_bytes_s": "number",
    "sent_bytes_s": "number",
    "even": "yes/no",
}
FINDINGS: dict[str, Kind] = {
    "job_name": "text",
    "position": "whole",
    "id": "text",
    "severity": "text",
    "confidence": "text",
    "title": "text",
    "summary": "text",
    "recommendation": "text",
    "parameter": "text",
    "from_value": "text",
    "to_value": "text",
    "change_pct_low": "number",
    "change_pct_mid": "number",
    "change_pct_high": "number",
    "share": "number",
    "recoverable_usd": "number",
    "evidence": "text",
}
BUCKETS: dict[str, Kind] = {
    "job_name": "text",
    "name": "text",
    "is_waste": "yes/no",
    "seconds": "number",
    "billed_seconds": "number",
    "billed_instance_s": "number",
    "cost_usd": "number",
}
JOBS: dict[str, Kind] = {
    "schema_version": "whole",
    "job_name": "text",
    "arn": "text",
    "account": "text",
    "status": "text",
    "secondary_status": "text",
    "failure_reason": "text",
    "created": "instant",
    "started": "instant",
    "ended": "instant",
    "reviewed_at": "instant",
    "is_final": "yes/no",
    "instance_type": "text",
    "instance_count": "whole",
    "gpu_count": "whole",
    "spot": "yes/no",
    "launcher": "text",
    "smp_version": "whole",
    "log_formats": "text",
    "configuration": "text",
    "training_seconds": "whole",
    "billable_seconds": "whole",
    "price_usd_per_instance_hour": "number",
    "price_source": "text",
    "cost_usd": "number",
    "overhead_usd": "number",
    "recoverable_usd": "number",
    "recoverable_usd_per_hour": "number",
    "wasted_usd": "number",
    "billed_instance_s": "number",
    "recoverable_instance_s": "number",
    "wasted_instance_s": "number",
    "goodput": "number",
    "mfu_pct": "number",
    "gpu_utilization_pct": "number",
    "gpu_memory_utilization_pct": "number",
    "step_reports": "whole",
    "step_median_s": "number",
    "step_p10_s": "number",
    "step_p90_s": "number",
    "steps_done": "whole",
    "steps_total": "whole",
    "verdict": "text",
    "critical_findings": "whole",
    "warning_findings": "whole",
    "top_finding": "text",
    "top_finding_title": "text",
    "log_lines": "whole",
    "metrics_period_s": "whole",
    "profiler_objects": "whole",
    "tags": "text",
    "account_name": "text",
    "team": "text",
    "project": "text",
    "step_time_came_by": "text",
}

TABLES: dict[str, dict[str, Kind]] = {
    "steps": STEPS,
    "metrics": METRICS,
    "events": EVENTS,
    "gpus": GPUS,
    "hosts": HOSTS,
    "findings": FINDINGS,
    "buckets": BUCKETS,
    "jobs": JOBS,
}
#: What got a better name, and is missing in files from before: new name -> old one, which is still written.
OLD_NAMES = {"overhead_usd": "wasted_usd"}
#: The tables that a run is read back from; the others follow from them.
FRAMES = ("steps", "metrics", "events", "gpus", "hosts")
#: Of them, those that files from before lack: no row then.
LATER_FRAMES = frozenset({"gpus", "hosts"})
