"""What may not be shown? Secrets, told by their names, by their own form, and by being a value that the job itself keeps under
a secret name. One list of names serves settings, command lines, JSON, headers and addresses alike.

The patterns are this project's own. Of the detectors that can be had, detect-secrets is the nearest; it finds whether a source
file holds a secret, where this room must take one out of a line and leave the rest: its keyword plugin takes all the rest of
a line, asks for quotes in most kinds of files and knows neither options nor lists of arguments; its prefixes lack those of
Hugging Face, of fine-grained GitHub tokens and of Google; its entropy plugins take git hashes, digests and job names for
secrets. Its last release is of May 2024.
"""

from monitor.masking.forms import MASK, KeyLines, masked, without_secrets
from monitor.masking.known import secrets_of
from monitor.masking.names import is_secret

__all__ = ["MASK", "KeyLines", "is_secret", "masked", "secrets_of", "without_secrets"]
