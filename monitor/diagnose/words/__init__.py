"""Sentences about figures: charts, costs, devices, evidence, and how steps were read."""
