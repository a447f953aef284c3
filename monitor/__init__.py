"""Trainwatch: where the GPU hours of an Amazon SageMaker training job went, and which knob to turn."""
