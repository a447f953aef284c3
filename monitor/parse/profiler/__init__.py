"""What the profiler of a training job wrote: which object is of which node and minute, and what its lines say."""
