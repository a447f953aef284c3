"""The Thresholds page, and saved thresholds in the charts of a job."""
