"""Problems of a setup: what a library rejects or ignores, what costs time, and what is missing to judge by."""
