"""The one seam to AWS: clients, what their errors mean, and what the calls cost."""
