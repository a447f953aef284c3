"""What ended a job, or holds it up, as findings."""
