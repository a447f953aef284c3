"""How is an end described that came of a missing permission, and which statement would have prevented it?"""

from __future__ import annotations

import json

from monitor.analyze.ending import Ending
from monitor.analyze.failure_causes import Denied, denied
from monitor.diagnose.endings import description as ended
from monitor.diagnose.quoted import quoted
from monitor.diagnose.rule import Case
from monitor.model import Evidence, Finding, Recommendation
from monitor.words import count

_NAMED = 3


def finding(case: Case, ending: Ending) -> Finding:
    """The finding ``access-denied``."""
    by_service = ending.first is None and ending.reason is not None and ending.reason.said == "denied"
    found = denied(ending.text, by_service) or Denied("an AWS service", (), False, "*")
    actions = ", ".join(found.actions[:_NAMED])
    if len(found.actions) > _NAMED:
        actions += f" and {count(len(found.actions) - _NAMED, 'more', 'more')}"
    if found.named:
        title, missing = f"Access denied: {actions}", f"The permission {actions} is missing."
    else:
        title = f"Access denied to {found.what}"
        missing = f"The text names no permission; usually it is {actions}." if actions else ""
    absent = " Or it does not exist: the text says both." if found.or_absent else ""
    opening = (
        f"SageMaker was refused access to {found.what}"
        if by_service
        else f"{ended.who(ending.first, 'The program')} was refused access to {found.what}"
    )
    words = " ".join(part for part in (f"{opening}{ended.when(case, ending)}.", missing) if part)
    role = f"execution role ({case.run.job.role})" if case.run.job.role else "execution role"
    return Finding(
        "access-denied",
        "critical",
        "high" if found.named else "medium",
        title,
        f"{words}{absent}{'' if by_service else ended.rest(case, ending)}",
        (
            *(() if by_service else ended.shown(case, ending)),
            *(
                (
                    Evidence(
                        "what SageMaker says",
                        end=case.run.job.ended,
                        line=quoted(ending.reason.quote),
                        role="of SageMaker",
                    ),
                )
                if ending.reason is not None
                else ()
            ),
        ),
        Recommendation(
            f"{'Check the address of the image; if it is right, add' if found.or_absent else 'Add'} the statement below to the "
            f"policy of the job's {role}. If it is there already, look at the policy of the bucket, key or "
            f"repository, at a permissions boundary, and in a VPC at the policies of its endpoints.",
            source="SageMaker developer guide, SageMaker roles",
            code=statement(found),
            language="json",
        ),
        not_checked=("the policies themselves: reading them needs rights of its own",),
        savings=ended.not_saved(case, ending.at),
    )


def statement(found: Denied) -> str:
    """One statement of a policy, in one line of JSON."""
    actions = list(found.actions)
    said = {"Effect": "Allow", "Action": actions[0] if len(actions) == 1 else actions, "Resource": found.resource}
    return json.dumps(said)
