"""The page of one job: verdict, findings with their evidence, charts, tables."""
