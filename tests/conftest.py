"""How many examples a property test draws: few in the suite, many with HYPOTHESIS_PROFILE=thorough."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("suite", max_examples=30)
settings.register_profile("thorough", max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))
