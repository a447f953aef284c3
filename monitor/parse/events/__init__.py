"""What a log tells besides steps: starts, failures, checkpoints, evaluations, sizes, configuration."""
