"""The embedded account: sample jobs on a simulated AWS, and the dashboard that looks at them."""
