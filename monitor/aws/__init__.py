"""The only contact with AWS: clients, what their errors mean, and what the calls cost."""
