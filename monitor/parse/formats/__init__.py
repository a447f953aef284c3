"""The log formats, one file a family; ``monitor.parse.recognise`` finds each by its being here.

A family's file has three names: ``FORMAT`` (what the ``format`` column says, or a prefix of it), ``GATES`` (literal
texts, one of which stands in every line of the family: what lets all other lines be skipped quickly) and
``read(text) -> Iterable[Reading]`` (what the text says, or nothing; it remembers nothing). A line that the family
knows and that is no step yields ``NO_STEP``. ``GENERIC = True`` puts a
family behind all others: it is asked only where no exact one knows the text.
``INSIGHTS`` (``monitor.parse.said``) says a line that is one regular expression to Logs Insights, from the same patterns.
"""
