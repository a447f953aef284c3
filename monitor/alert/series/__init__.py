"""What a job's hosts and steps measured over time, as tracks that thresholds are judged on."""
