"""What must not be shown? Secrets, recognized by their names, by their format, and by being a value that the job
itself stores under a secret name. One list of names serves settings, command lines, JSON, headers and addresses
alike.

The patterns are this project's own. Of the available detectors, detect-secrets comes closest; it finds which lines of a
source file deserve a look, where this room takes a secret out of a line and leaves the rest. Measured on older tables of
``tests/attack``: all its plugins find 104 of 126 shapes, and flag 50 of 52 harmless lines and most lines of real logs (hashes,
digests, job names); those that know a form alone flag no harmless line, and find 11 (none for Hugging Face, Google or
fine-grained GitHub tokens). It takes 70 to 280 microseconds a line, this room some 10. Its last release is of May 2024.
"""

from monitor.masking.forms import MASK, KeyLines, masked, without_secrets
from monitor.masking.known import secrets_of
from monitor.masking.names import is_secret

__all__ = ["MASK", "KeyLines", "is_secret", "masked", "secrets_of", "without_secrets"]
