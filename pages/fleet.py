"""Fleet: where do the GPU-hours go? The answer first, then by whom and why, week by week, and down to the jobs."""

from __future__ import annotations

from monitor.errors import TrainwatchError
from monitor.show import data_fleet, shell
from monitor.show.fleet_board import show_choice, show_fleet, show_state
from monitor.show.pace import DONE, EMPTY, WAITING, Pace, live
from monitor.show.trouble import show_error

visit = shell.enter()


def board() -> Pace:
    """What is known now; a look at the archive is waited for in the background."""
    try:
        found = data_fleet.fleet(visit.account)
    except TrainwatchError as error:
        show_error(error, "fleet", "Opening the archive")
        return DONE
    state = found.state()
    show_state(state)
    # What is shown of an archive that is still being read is what is read of it so far.
    if state.jobs or (state.jobs is None and state.generation):
        window, by = show_choice()
        show_fleet(found, window, by)
        found.drawn()
    return pace_of(state)


def pace_of(state: data_fleet.FleetProgress) -> Pace:
    if not state.progress:
        return DONE
    return WAITING if state.generation else EMPTY


def soon() -> Pace:
    try:
        return pace_of(data_fleet.fleet(visit.account).state())
    except TrainwatchError:
        return DONE


live(board, "fleet", soon)
